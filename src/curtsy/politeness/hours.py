"""Hours of the day in which a site wants less of us, or nothing; by its own clock on the wall.

Where less is wanted, time counts for less: a second of such an hour is worth 1/slowdown of one.
Every delay and every allowance is then kept in this polite time. Where nothing is wanted, time
counts as ever, but nothing starts.
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from math import ceil
from typing import Any
from zoneinfo import ZoneInfo

from curtsy.clock import DAY, MINUTE

FARTHEST = 10 * 365 * DAY
"""What lies beyond is not looked for: it is said to be this far."""


@dataclass(frozen=True, slots=True)
class Hours:
    start: int
    """Minutes after midnight, as is `end`; one that ends before it starts lasts over midnight."""
    end: int
    timezone: str = "UTC"
    slowdown: float = 1.0
    closed: bool = False
    _zone: Any = field(init=False, repr=False, compare=False)
    _known: tuple[int, int, bool] = field(init=False, repr=False, compare=False)
    """From, until, and whether it is within: asking the zone takes most of a start's time."""

    def __post_init__(self) -> None:
        if self.start == self.end:
            raise ValueError("start and end are the same time")
        object.__setattr__(self, "_zone", ZoneInfo(self.timezone))
        object.__setattr__(self, "_known", (0, 0, False))

    def within(self, instant: int) -> bool:
        return self._stretch(instant)[2]

    def changes_at(self, instant: int) -> int:
        """When it will be otherwise."""
        return self._stretch(instant)[1]

    def _stretch(self, instant: int) -> tuple[int, int, bool]:
        known = self._known
        if not known[0] <= instant < known[1]:
            known = instant, self._changes_at(instant), self._is_within(instant)
            object.__setattr__(self, "_known", known)
        return known

    def _is_within(self, instant: int) -> bool:
        at = (instant + self._ahead(instant)) % DAY
        start, end = self.start * MINUTE, self.end * MINUTE
        return start <= at < end if start < end else at >= start or at < end

    def _changes_at(self, instant: int) -> int:
        """The wall's clock itself may jump meanwhile."""
        before, at = self._is_within(instant), instant
        while True:
            ahead = self._ahead(at)
            local = (at + ahead) % DAY
            marks = (self.start * MINUTE, self.end * MINUTE)
            following = at + min((mark - local - 1) % DAY + 1 for mark in marks)
            if self._ahead(following) != ahead:
                following = self._jump(at, following)
            if self._is_within(following) != before:
                return following
            at = following

    def opens_at(self, instant: int) -> int:
        """This moment, or the end of the closed hours that it falls in."""
        return self.changes_at(instant) if self.closed and self.within(instant) else instant

    def after(self, instant: int, span: float) -> int:
        """When so much polite time has passed."""
        if self.closed or self.slowdown == 1:
            return instant + ceil(span)
        farthest = instant + FARTHEST
        while instant < farthest:
            rate, until = self._rate(instant), self.changes_at(instant)
            if instant + span * rate <= until:
                return instant + ceil(span * rate)
            span -= (until - instant) / rate
            instant = until
        return farthest

    def passed(self, since: int, until: int) -> float:
        """The polite time between two moments."""
        if self.closed or self.slowdown == 1:
            return max(0, until - since)
        span = 0.0
        while since < until:
            step = min(until, self.changes_at(since))
            span += (step - since) / self._rate(since)
            since = step
        return span

    def closed_between(self, since: int, until: int) -> int:
        """How much of this time was closed."""
        shut = 0
        while self.closed and since < until:
            step = min(until, self.changes_at(since))
            shut += step - since if self.within(since) else 0
            since = step
        return shut

    def _rate(self, instant: int) -> float:
        return self.slowdown if self.within(instant) else 1.0

    def _ahead(self, instant: int) -> int:
        """Of UTC, at that moment, in milliseconds."""
        local = datetime.fromtimestamp(instant / 1000, UTC).astimezone(self._zone)
        offset = local.utcoffset()
        return int(offset.total_seconds() * 1000) if offset is not None else 0

    def _jump(self, low: int, high: int) -> int:
        """The first moment after `low` at which the wall's clock runs as it does at `high`."""
        ahead = self._ahead(high)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._ahead(middle) == ahead else (middle, high)
        return high
