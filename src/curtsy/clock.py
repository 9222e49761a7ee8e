"""Time. An instant is whole milliseconds since 1970 (UTC); a span is milliseconds too.

Two clocks are kept apart. `monotonic` never jumps and counts through a suspended machine: pacing
and trust stand on it. `now` is the database's wall clock, carried forward by `monotonic` between
two synchronisations, so that a wall clock that jumps cannot move a wait while nobody looks.
"""

import time
from collections.abc import Callable
from datetime import UTC, datetime

SECOND = 1000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR
DRIFT_PER_MILLION = 200
SMALLEST_JUMP = 20
"""What a clock that is set moves at least; less is drift, and the doubt of who asks."""

_CLOCK_ID = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def boot_time() -> int:
    """Milliseconds on a clock that nobody can set and that counts while the machine sleeps."""
    return time.clock_gettime_ns(_CLOCK_ID) // 1_000_000


def wall_time() -> int:
    return time.time_ns() // 1_000_000


def rfc3339(instant: int) -> str:
    moment = datetime.fromtimestamp(instant / 1000, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def rfc3339_or_none(instant: int | None) -> str | None:
    return rfc3339(instant) if instant is not None else None


class Clock:
    """The engine's time: set by the database, moved on by a clock that cannot jump."""

    def __init__(
        self, *, monotonic: Callable[[], int] = boot_time, wall: Callable[[], int] = wall_time
    ) -> None:
        self.monotonic = monotonic
        self._ahead = wall() - monotonic()
        self._set_at = monotonic()
        self._doubt = 10_000
        self.version: int | None = None  # of the `clock` row that this time goes by

    def now(self) -> int:
        return self.monotonic() + self._ahead

    @property
    def offset(self) -> int:
        """What turns a monotonic time into an instant."""
        return self._ahead

    def jump(self, database_now: int, asked_at: int, answered_at: int) -> int:
        """How far the database's clock moved against ours; 0 within the doubt of both questions,
        this one and the last."""
        at = (asked_at + answered_at) // 2
        off = database_now - (at + self._ahead)
        return 0 if abs(off) <= SMALLEST_JUMP + (answered_at - asked_at) + self.doubt else off

    @property
    def doubt(self) -> int:
        """How far `now` may be off the database's time; it grows as the clocks drift apart."""
        return self._doubt + (self.monotonic() - self._set_at) * DRIFT_PER_MILLION // 1_000_000

    def adopt(self, database_now: int, asked_at: int, answered_at: int, version: int) -> None:
        self._set_at = (asked_at + answered_at) // 2
        self._ahead = database_now - self._set_at
        self._doubt = (answered_at - asked_at) // 2 + 1
        self.version = version
