"""Watches the disk of a SQLite file: below the low mark it runs cleanups early, and below the
reserve it says that new work is refused.

An early cleanup follows the rule of every other one: what RESULT_DAYS protects stays. The rest of
the reserve is for what is fetched already (`Store.has_room`). The disk of a PostgreSQL server is
watched where the server is.
"""

import time
from collections.abc import Callable
from enum import Enum
from typing import NamedTuple

from curtsy.logs import logger
from curtsy.maintenance.cleanup import Cleanup
from curtsy.store import Store
from curtsy.store.space import read_space

log = logger("maintenance")

CHECK_EVERY_SECONDS = 30.0
WITHOUT_A_DISK_SECONDS = 3_600.0
CLEANUP_EVERY_SECONDS = 600.0
"""Between two early cleanups: they delete nothing that another day would not delete."""
CLEAR_AGAIN = 1.1
"""The disk counts as low until it has this many times the low mark."""


class DiskMarks(NamedTuple):
    """Bytes that should be free."""

    low: int
    reserve: int


class DiskState(Enum):
    OK = "ok"
    LOW = "low"
    RESERVED = "reserved"


class DiskWatch:
    def __init__(
        self, *, store: Store, cleanup: Cleanup, marks: DiskMarks,
        seconds: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        self._store, self._cleanup, self._marks = store, cleanup, marks
        self._seconds = seconds
        self._cleaned_at: float | None = None
        self.state = DiskState.OK

    async def step(self) -> float:
        """A periodic step: looks at the disk, and cleans up if it is low."""
        free = (await read_space(self._store)).free_bytes
        if free is None:
            return WITHOUT_A_DISK_SECONDS
        before, self.state = self.state, state_of(free, self._marks, self.state)
        if self.state is not before:
            self._log(free)
        if self.state is not DiskState.OK and self._may_clean():
            self._cleaned_at = self._seconds()
            log.info("cleanup_run_early", free_bytes=free, result=await self._cleanup.run())
        return CHECK_EVERY_SECONDS

    def _may_clean(self) -> bool:
        at = self._cleaned_at
        return at is None or self._seconds() - at >= CLEANUP_EVERY_SECONDS

    def _log(self, free: int) -> None:
        match self.state:
            case DiskState.OK:
                log.info("disk_has_room_again", free_bytes=free)
            case DiskState.LOW:
                log.warning("disk_low", free_bytes=free, low_bytes=self._marks.low,
                            meaning="cleanups run early; free some space")  # fmt: skip
            case DiskState.RESERVED:
                log.warning("disk_nearly_full", free_bytes=free,
                            reserve_bytes=self._marks.reserve,
                            meaning="new work is refused until there is space again")  # fmt: skip


def state_of(free: int, marks: DiskMarks, before: DiskState) -> DiskState:
    """What so many free bytes mean. A disk that was low needs a little more to be well again."""
    if free < marks.reserve:
        return DiskState.RESERVED
    enough = marks.low if before is DiskState.OK else int(marks.low * CLEAR_AGAIN)
    return DiskState.LOW if free < enough else DiskState.OK
