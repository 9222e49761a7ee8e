"""Decides when the next request to a source may start. Only the source's owner uses it, in one
loop.

Times are on the monotonic clock; adding `offset` turns them into instants, for respectful hours.
Stored times are spans before the last request, so that a jump of the clock moves them all.
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
"""Milliseconds: the delay that is stretched if the policy has none."""
LEVEL_STEPS = 10**6
"""The stored level of the bucket is rounded up to a multiple of 1/LEVEL_STEPS."""


Rule = Literal["rest", "delay", "hourly_limit", "closed_hours"]


@dataclass(slots=True)
class Pace:
    policy: Policy
    rest_until: int
    """No request starts before this, whatever the other rules allow."""
    offset: int = 0
    last: int | None = None
    """When the last request left."""
    dice: float = 0.0
    """From 0 to 1: where the delay after the last request lies between the shortest and longest."""
    level: float = 0.0
    """Requests in the bucket that spreads the hourly limit, just after the last request."""
    hour: LastHour = field(default_factory=LastHour)
    strain: Strain = field(default_factory=Strain)
    in_flight: int = 0
    unsent: int = 0
    """Requests that are still connecting: delays count from when they leave."""
    alone: bool = False
    """One request at a time, whatever the policy allows: pages of the source crashed workers."""
    resting: bool = False
    """After a failure of the host: one request at a time, until one succeeds."""
    next_at: int = field(init=False)
    """No request starts before this, by all rules."""

    def __post_init__(self) -> None:
        self._set_next_at()

    def wait(self, now: int) -> int | None:
        """Milliseconds until a request may start; None: that depends on open requests."""
        if self.in_flight >= (1 if self.resting or self.alone else self.policy.concurrency):
            return None
        if self.unsent and self._is_spaced():
            return None
        return self.wait_when_free(now)

    def wait_when_free(self, now: int) -> int:
        """The same, regardless of open requests."""
        hours = self.policy.hours
        if hours is not None and hours.closed and self.next_at < now:
            return hours.opens_at(now + self.offset) - self.offset - now
        return max(0, self.next_at - now)

    def waits(self, now: int) -> dict[Rule, int]:
        """The rules that forbid a start now, each with the end of its wait."""
        found: dict[Rule, int] = {"rest": self.rest_until}
        if self.last is not None:
            if delay := self.delay():
                found["delay"] = self._after(delay) + 1
            if self.policy.requests_per_hour:
                found["hourly_limit"] = self._allowance_at()
        if self.policy.hours is not None:
            at = max(now, *found.values())
            opens_at = self._opens_at(at)
            found["closed_hours"] = opens_at if opens_at > at else self._opens_at(now)
        return {rule: until for rule, until in found.items() if until > now}

    def _opens_at(self, at: int) -> int:
        hours = self.policy.hours
        return at if hours is None else hours.opens_at(at + self.offset) - self.offset

    def started(self) -> None:
        self.in_flight += 1
        self.unsent += 1

    def sent(self, now: int, rng: random.Random) -> None:
        """A started request has connected and leaves now."""
        self.unsent -= 1
        self.request_left(now, rng)

    def ended(self, now: int, rng: random.Random, *, was_sent: bool) -> None:
        self.in_flight -= 1
        if not was_sent:  # the host saw a connection at least, so it counts
            self.unsent -= 1
            self.request_left(now, rng)

    def rest(self, until: int) -> None:
        """Forbids starts before `until`."""
        if until > self.rest_until:
            self.rest_until = until
            self._set_next_at()

    def adopt(self, policy: Policy) -> None:
        had_a_limit, self.policy = self.policy.requests_per_hour > 0, policy
        self.refill(self.level if had_a_limit else None)

    def refill(self, level: float | None) -> None:
        """Sets the bucket's level under a policy that may be new, up to the burst limit. None:
        there was no bucket, so the level is computed from the requests of the last hour."""
        if not self.policy.requests_per_hour:
            level = 0.0
        elif level is None:
            level = self._level_of_the_hour()
        self.level = min(level, float(self.policy.burst_limit))
        self._set_next_at()

    def _level_of_the_hour(self) -> float:
        level, starts = 0.0, list(self.hour)
        for (before, _many), (at, many) in pairwise([*starts[:1], *starts]):
            level = max(0.0, level - self._polite(before, at) / self.policy.spread) + many
        return level

    def observe(self, ms: int) -> None:
        """Records the time from a request to the first byte of its answer."""
        before = self.strain.stretch
        self.strain.observe(ms)
        if self.strain.stretch != before:
            self._set_next_at()

    def set_offset(self, offset: int) -> None:
        if offset != self.offset:
            self.offset = offset
            self._set_next_at()

    def delay(self) -> float:
        """The delay between the last start and the next, in polite time."""
        low, high = self.policy.min_delay, self.policy.max_delay
        return self.stretched(low + self.dice * (high - low) if high > low else low)

    def stretched(self, delay: float) -> float:
        stretch = self.strain.stretch
        return max(delay, UNDER_STRAIN) * stretch if stretch > 1 else delay

    def assume_unreported(self, at: int, span: int) -> None:
        """The owner until `at` died and may have sent unreported requests for as long as `span`.
        Assumes as many as the policy allowed."""
        self.last = at if self.last is None else max(self.last, at)
        limit, burst = self.policy.requests_per_hour, self.policy.burst_limit
        if limit:
            self.level = burst
            unreported = min(limit, burst + ceil(span / self.policy.spread))
            self.hour.add(self.last, limit, unreported)
        self._set_next_at()

    def _is_spaced(self) -> bool:
        policy = self.policy
        delay = max(policy.min_delay, policy.max_delay)
        return bool(delay or policy.requests_per_hour or self.strain.stretch > 1)

    def request_left(self, now: int, rng: random.Random) -> None:
        """Counts a request that left now and computes when the next may start."""
        if self.policy.requests_per_hour:
            self.level = self.level_at(now) + 1
        self.hour.add(now, self.policy.requests_per_hour)
        self.last = now
        self.dice = rng.random() if self.policy.max_delay > self.policy.min_delay else 0.0
        self._set_next_at()

    def level_at(self, now: int) -> float:
        """The level of the bucket at that time."""
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

    def _set_next_at(self) -> None:
        at, policy = self.rest_until, self.policy
        if self.last is not None:
            if delay := self.delay():
                at = max(at, self._after(delay) + 1)  # `last` is rounded down to a millisecond
            if policy.requests_per_hour:
                at = max(at, self._allowance_at())
        if policy.hours is not None:
            at = policy.hours.opens_at(at + self.offset) - self.offset
        self.next_at = at

    def _allowance_at(self) -> int:
        """When the hourly limit allows another request, both as spread (bucket) and as counted."""
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
        """An independent copy, for predictions."""
        return replace(self, hour=self.hour.copy(), strain=replace(self.strain))

    def stored(self) -> dict[str, Any]:
        """The state for the next owner; times are stored as spans around the last start."""
        if self.last is None:
            return {}
        stored: dict[str, Any] = {"rest": self.rest_until - self.last}
        stored["hour"] = self.hour.before(self.last)
        if self.dice:
            stored["dice"] = round(self.dice, 4)
        if self.policy.requests_per_hour:
            stored["level"] = ceil(self.level * LEVEL_STEPS) / LEVEL_STEPS
        if self.strain.usual:
            stored["strain"] = self.strain.stored()
        return stored


def resumed(
    policy: Policy, stored: Mapping[str, Any], *, last: int | None, next_at: int, offset: int
) -> Pace:
    """The pace from its stored state, `last` and `next_at` as they were stored with it."""
    if last is None or not stored:
        return Pace(policy, next_at, offset, last)
    pace = Pace(
        policy,
        rest_until=last + stored["rest"],
        offset=offset,
        last=last,
        dice=stored.get("dice", 0.0),
        hour=LastHour.since(last, stored.get("hour", ())),
        strain=Strain(*stored.get("strain", ())),
    )
    pace.refill(stored.get("level"))
    return pace


def as_stored(
    policy: Policy, stored: Mapping[str, Any], *, paced_at: int | None, next_fetch_at: int | None
) -> Pace:
    """The stored pace for readers that do not own the source: times are instants. Before the first
    request only the policy makes a source wait, whatever `next_fetch_at` an owner left."""
    with_crawl_delay = policy.with_crawl_delay(stored.get("crawl", 0))
    next_at = next_fetch_at or 0 if paced_at is not None else 0
    return resumed(with_crawl_delay, stored, last=paced_at, next_at=next_at, offset=0)
