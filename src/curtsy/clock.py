"""Time. An instant is whole milliseconds since 1970 (UTC); a span is milliseconds too.

There are two clocks. `monotonic` never jumps and counts while the machine is suspended: pacing and
trust use it. `now` is the database's wall clock, advanced by `monotonic` between two
synchronisations, so that a jump of a wall clock cannot change a wait in between.
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
"""The smallest difference that counts as a jump; less is drift or measuring error."""
DOUBTFUL_FOR = 15 * MINUTE
"""After a machine starts with a wrong clock, its time service has corrected it by then."""

_CLOCK_ID = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def boot_time() -> int:
    """Returns milliseconds of a clock that cannot be set and that counts while the machine
    sleeps."""
    return time.clock_gettime_ns(_CLOCK_ID) // 1_000_000


def wall_time() -> int:
    return time.time_ns() // 1_000_000


def rfc3339(instant: int) -> str:
    moment = datetime.fromtimestamp(instant / 1000, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def instant_of(text: str) -> int | None:
    """Reads an instant that says its offset from UTC; None: the text is none."""
    try:
        moment = datetime.fromisoformat(text)
        return int(moment.timestamp() * 1000) if moment.tzinfo is not None else None
    except (ValueError, OverflowError):
        return None


def rfc3339_or_none(instant: int | None) -> str | None:
    return rfc3339(instant) if instant is not None else None


class Clock:
    """The database's time, advanced by a clock that cannot jump."""

    def __init__(
        self, *, monotonic: Callable[[], int] = boot_time, wall: Callable[[], int] = wall_time
    ) -> None:
        self.monotonic = monotonic
        self._ahead = wall() - monotonic()
        self._set_at = monotonic()
        self._doubt = 10_000
        self.version: int | None = None  # of the `clock` row at the last synchronisation
        self._doubtful_until = 0

    def now(self) -> int:
        return self.monotonic() + self._ahead

    @property
    def offset(self) -> int:
        """Add this to a monotonic time to get an instant."""
        return self._ahead

    def jump(self, database_now: int, sent_at: int, received_at: int) -> int:
        """Returns how far the database's clock jumped against ours; 0 within the uncertainty of
        this reading and the last."""
        at = (sent_at + received_at) // 2
        off = database_now - (at + self._ahead)
        return 0 if abs(off) <= SMALLEST_JUMP + (received_at - sent_at) + self.doubt else off

    @property
    def doubt(self) -> int:
        """The uncertainty of `now` against the database's time; it grows as the clocks drift."""
        return self._doubt + (self.monotonic() - self._set_at) * DRIFT_PER_MILLION // 1_000_000

    @property
    def is_doubtful(self) -> bool:
        """The time went ahead by far, a moment ago: it may be wrong, so nothing is to be deleted
        for its age."""
        return self.monotonic() < self._doubtful_until

    def went_ahead(self) -> None:
        self._doubtful_until = self.monotonic() + DOUBTFUL_FOR

    def adopt(self, database_now: int, sent_at: int, received_at: int, version: int) -> None:
        self._set_at = (sent_at + received_at) // 2
        self._ahead = database_now - self._set_at
        self._doubt = (received_at - sent_at) // 2 + 1
        self.version = version
