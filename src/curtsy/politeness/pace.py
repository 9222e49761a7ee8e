"""When the next request of a source may start. One owner, one loop: nobody else asks.

Times here are on the monotonic clock; `offset` turns them into instants, for the hours of the
day. What is stored are spans before the last request, so that a jump of the clock moves all.
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import ceil
from typing import Any, Literal

from curtsy.politeness.last_hour import LastHour
from curtsy.politeness.policy import Policy
from curtsy.politeness.strain import Strain

UNDER_STRAIN = 100
"""The delay that is stretched where a policy has none."""
LEVEL_STEPS = 10**6
"""In which the level of the bucket is stored, rounded up."""


Rule = Literal["rest", "delay", "hourly_limit", "closed_hours"]


@dataclass(slots=True)
class Pace:
    policy: Policy
    rest_until: int
    """No start before this, whatever else is allowed."""
    offset: int = 0
    last: int | None = None
    """When a request left, the last time."""
    dice: float = 0.0
    """From 0 to 1: where the delay after it lies between the shortest and the longest."""
    level: float = 0.0
    """Of the bucket that spreads the hour's requests, just after the last: so many are in it."""
    hour: LastHour = field(default_factory=LastHour)
    strain: Strain = field(default_factory=Strain)
    in_flight: int = 0
    unsent: int = 0
    """Started, but still connecting: spacing counts from when they leave."""
    alone: bool = False
    """One request at a time, whatever the policy allows: the source is under suspicion."""
    resting: bool = False
    """After trouble with the host: one probe alone, until something succeeds."""
    next_at: int = field(init=False)
    """No start before this."""

    def __post_init__(self) -> None:
        self._plan()

    def wait(self, now: int) -> int | None:
        """Milliseconds until a request may start; None while only another's progress can tell."""
        if self.in_flight >= (1 if self.resting or self.alone else self.policy.concurrency):
            return None
        if self.unsent and self._is_spaced():
            return None
        return self.wait_when_free(now)

    def wait_when_free(self, now: int) -> int:
        """The same, whatever is open."""
        hours = self.policy.hours
        if hours is not None and hours.closed and self.next_at < now:
            return hours.opens_at(now + self.offset) - self.offset - now
        return max(0, self.next_at - now)

    def waits(self, now: int) -> dict[Rule, int]:
        """Every rule by which nothing may start now, and until when it says so."""
        found: dict[Rule, int] = {"rest": self.rest_until}
        if self.last is not None:
            if delay := self.delay():
                found["delay"] = self._after(delay) + 1
            if self.policy.requests_per_hour:
                found["hourly_limit"] = self._allowance_at()
        if self.policy.hours is not None:
            at = max(now, *found.values())
            opens_at = self.policy.hours.opens_at(at + self.offset) - self.offset
            found["closed_hours"] = opens_at if opens_at > at else now
        return {rule: until for rule, until in found.items() if until > now}

    def started(self) -> None:
        self.in_flight += 1
        self.unsent += 1

    def sent(self, now: int, rng: random.Random) -> None:
        """The request leaves now, perhaps some time after it was started."""
        self.unsent -= 1
        self.left(now, rng)

    def ended(self, now: int, rng: random.Random, *, was_sent: bool) -> None:
        self.in_flight -= 1
        if not was_sent:  # its connection was all that the host saw, but that was something
            self.unsent -= 1
            self.left(now, rng)

    def rest(self, until: int) -> None:
        """Nothing starts before `until`, whatever else was planned."""
        if until > self.rest_until:
            self.rest_until = until
            self._plan()

    def adopt(self, policy: Policy) -> None:
        had_a_limit, self.policy = self.policy.requests_per_hour > 0, policy
        self.refill(self.level if had_a_limit else None)

    def refill(self, level: float | None) -> None:
        """Under a policy that may be new: as many as were in it, as far as they fit. None: nobody
        counted, so as if it had been there for the last hour."""
        if not self.policy.requests_per_hour:
            level = 0.0
        elif level is None:
            level = self._level_of_the_hour()
        self.level = min(level, float(self.policy.burst_limit))
        self._plan()

    def _level_of_the_hour(self) -> float:
        level, starts = 0.0, list(self.hour)
        for (before, _many), (at, many) in pairwise([*starts[:1], *starts]):
            level = max(0.0, level - self._polite(before, at) / self.policy.spread) + many
        return level

    def heard(self, ms: int) -> None:
        """An answer began so long after its request."""
        before = self.strain.stretch
        self.strain.heard(ms)
        if self.strain.stretch != before:
            self._plan()

    def set_offset(self, offset: int) -> None:
        if offset != self.offset:
            self.offset = offset
            self._plan()

    def delay(self) -> float:
        """What lies between the last start and the next, in polite time."""
        low, high = self.policy.min_delay, self.policy.max_delay
        return self.stretched(low + self.dice * (high - low) if high > low else low)

    def stretched(self, delay: float) -> float:
        stretch = self.strain.stretch
        return max(delay, UNDER_STRAIN) * stretch if stretch > 1 else delay

    def assume_unreported(self, at: int, span: int) -> None:
        """Whoever had the source until `at` died, and may have started what it never told of for
        as long as `span`: all that the policy allowed."""
        self.last = at if self.last is None else max(self.last, at)
        limit, burst = self.policy.requests_per_hour, self.policy.burst_limit
        if limit:
            self.level = burst
            untold = min(limit, burst + ceil(span / self.policy.spread))
            self.hour.add(self.last, limit, untold)
        self._plan()

    def _is_spaced(self) -> bool:
        policy = self.policy
        delay = max(policy.min_delay, policy.max_delay)
        return bool(delay or policy.requests_per_hour or self.strain.stretch > 1)

    def left(self, now: int, rng: random.Random) -> None:
        """A request did, just now: the next counts from it."""
        if self.policy.requests_per_hour:
            self.level = self.level_at(now) + 1
        self.hour.add(now, self.policy.requests_per_hour)
        self.last = now
        self.dice = rng.random() if self.policy.max_delay > self.policy.min_delay else 0.0
        self._plan()

    def level_at(self, now: int) -> float:
        """How full the bucket still is then."""
        if self.last is None or not self.level:
            return 0.0
        hours, spread = self.policy.hours, self.policy.spread
        longest = self.level * spread * (hours.slowdown if hours is not None else 1)
        if now - self.last >= longest:
            return 0.0
        return max(0.0, self.level - self._polite(self.last, now) / spread)

    def _polite(self, since: int, until: int) -> float:
        hours = self.policy.hours
        if hours is None:
            return until - since
        return hours.passed(since + self.offset, until + self.offset)

    def _plan(self) -> None:
        at, policy = self.rest_until, self.policy
        if self.last is not None:
            if delay := self.delay():
                at = max(at, self._after(delay) + 1)  # `last` may be a millisecond old
            if policy.requests_per_hour:
                at = max(at, self._allowance_at())
        if policy.hours is not None:
            at = policy.hours.opens_at(at + self.offset) - self.offset
        self.next_at = at

    def _allowance_at(self) -> int:
        """When the hour's limit lets another go, both as it is spread and as it is counted."""
        policy = self.policy
        over = self.level - (policy.burst_limit - 1)
        spread_at = self._after(over * policy.spread) + 1 if over > 0 else self.rest_until
        return max(spread_at, self.hour.free_at(policy.requests_per_hour) or spread_at)

    def _after(self, span: float) -> int:
        last = self.last or 0
        if self.policy.hours is None:
            return last + ceil(span)
        return self.policy.hours.after(last + self.offset, span) - self.offset

    def copy(self) -> "Pace":
        """To see how it goes on, without any effect."""
        return replace(self, hour=self.hour.copy(), strain=replace(self.strain))

    def kept(self) -> dict[str, Any]:
        """What the next owner needs to know, as spans around the last start."""
        if self.last is None:
            return {}
        kept: dict[str, Any] = {"rest": self.rest_until - self.last}
        kept["hour"] = self.hour.before(self.last)
        if self.dice:
            kept["dice"] = round(self.dice, 4)
        if self.policy.requests_per_hour:
            kept["level"] = ceil(self.level * LEVEL_STEPS) / LEVEL_STEPS
        if self.strain.usual:
            kept["strain"] = self.strain.kept()
        return kept


def resumed(
    policy: Policy, kept: Mapping[str, Any], *, last: int | None, next_at: int, offset: int
) -> Pace:
    """The pace as somebody left it; `last` and `next_at` are as they were stored with it."""
    if last is None or not kept:
        return Pace(policy, next_at, offset, last)
    pace = Pace(
        policy,
        rest_until=last + kept["rest"],
        offset=offset,
        last=last,
        dice=kept.get("dice", 0.0),
        hour=LastHour.since(last, kept.get("hour", ())),
        strain=Strain(*kept.get("strain", ())),
    )
    pace.refill(kept.get("level"))
    return pace


def as_stored(
    policy: Policy, kept: Mapping[str, Any], *, paced_at: int | None, next_fetch_at: int | None
) -> Pace:
    """For one who only looks: times are instants."""
    minding = policy.minding(kept.get("crawl", 0))
    return resumed(minding, kept, last=paced_at, next_at=next_fetch_at or 0, offset=0)
