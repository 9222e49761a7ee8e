"""Respectful hours: hours of the day, on the site's local clock, with fewer requests or none.

In slow hours time counts less: a second is worth 1/slowdown of a second. Delays and limits are
measured in this polite time. In closed hours time counts as usual, but no request starts.
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from math import ceil
from typing import Any
from zoneinfo import ZoneInfo

from curtsy.clock import DAY, MINUTE

FARTHEST = 10 * 365 * DAY
"""The farthest moment that is computed; later ones are returned as this."""


@dataclass(frozen=True, slots=True)
class Hours:
    start: int
    """Minutes after midnight, as is `end`. Hours that end before they start last past midnight."""
    end: int
    timezone: str = "UTC"
    slowdown: float = 1.0
    closed: bool = False
    _zone: Any = field(init=False, repr=False, compare=False)
    _cached: tuple[int, int, bool] = field(init=False, repr=False, compare=False)
    """Cache: a stretch of time (from, until) and whether it is within the hours. The zone lookup
    would otherwise take most of the time of a start."""

    def __post_init__(self) -> None:
        if self.start == self.end:
            raise ValueError("start and end are the same time")
        object.__setattr__(self, "_zone", ZoneInfo(self.timezone))
        object.__setattr__(self, "_cached", (0, 0, False))

    def within(self, instant: int) -> bool:
        return self._stretch(instant)[2]

    def changes_at(self, instant: int) -> int:
        """When `within` changes next."""
        return self._stretch(instant)[1]

    def _stretch(self, instant: int) -> tuple[int, int, bool]:
        known = self._cached
        if not known[0] <= instant < known[1]:
            known = instant, self._changes_at(instant), self._is_within(instant)
            object.__setattr__(self, "_cached", known)
        return known

    def _is_within(self, instant: int) -> bool:
        at = (instant + self._utc_offset(instant)) % DAY
        start, end = self.start * MINUTE, self.end * MINUTE
        return start <= at < end if start < end else at >= start or at < end

    def _changes_at(self, instant: int) -> int:
        """Uncached; the local clock may jump in between (daylight saving time)."""
        before, at = self._is_within(instant), instant
        while True:
            ahead = self._utc_offset(at)
            local = (at + ahead) % DAY
            marks = (self.start * MINUTE, self.end * MINUTE)
            following = at + min((mark - local - 1) % DAY + 1 for mark in marks)
            if self._utc_offset(following) != ahead:
                following = self._jump(at, following)
            if self._is_within(following) != before:
                return following
            at = following

    def opens_at(self, instant: int) -> int:
        """The instant itself, or the end of the closed hours that it falls in."""
        return self.changes_at(instant) if self.closed and self.within(instant) else instant

    def after(self, instant: int, span: float) -> int:
        """The instant at which this much polite time has passed."""
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
        """How much of this time lies in closed hours."""
        closed = 0
        while self.closed and since < until:
            step = min(until, self.changes_at(since))
            closed += step - since if self.within(since) else 0
            since = step
        return closed

    def _rate(self, instant: int) -> float:
        return self.slowdown if self.within(instant) else 1.0

    def _utc_offset(self, instant: int) -> int:
        """The local clock's offset from UTC at that instant, in milliseconds."""
        local = datetime.fromtimestamp(instant / 1000, UTC).astimezone(self._zone)
        offset = local.utcoffset()
        return int(offset.total_seconds() * 1000) if offset is not None else 0

    def _jump(self, low: int, high: int) -> int:
        """The first instant after `low` with the UTC offset of `high`."""
        ahead = self._utc_offset(high)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._utc_offset(middle) == ahead else (middle, high)
        return high
