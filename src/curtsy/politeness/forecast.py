"""When the n-th request from now may be expected to start, by the rules that pace them all.

`start_of` lets the pacer itself go ahead, on a clock that nobody has to wait for, as far as that is
worth the time. Further on, and for who asks very often, there is `nth_start`: each rule alone says
how soon the n-th can come if the source always has work, and the slowest of them decides. Delays
that are drawn at random count with their mean.
"""

import random
from collections import deque
from collections.abc import Callable

from curtsy.clock import HOUR
from curtsy.politeness.hours import FARTHEST, Hours
from curtsy.politeness.pace import Pace

STEPS = 300
"""So many starts are gone through one by one."""


class _Middle(random.Random):
    def random(self) -> float:
        return 0.5


MIDDLE = _Middle()
"""For delays that are drawn: each is the mean."""


def start_of(pace: Pace, n: int, now: int, *, answer_ms: float = 0.0) -> int:
    """The n-th start from now. `answer_ms` is what a request takes: where few may be open at once,
    it counts too."""
    policy = pace.policy
    if policy.hours is None and not policy.requests_per_hour:
        return nth_start(pace, n, now, answer_ms=answer_ms)
    ahead, farthest = pace.copy(), now + FARTHEST
    open_until = deque([now] * (1 if pace.resting else policy.concurrency))
    for _ in range(min(n, STEPS)):
        now = max(now, open_until.popleft())
        now += ahead.wait_when_free(now)
        ahead.left(now, MIDDLE)
        open_until.append(now + round(answer_ms))
        if now >= farthest:
            return farthest
    return nth_start(ahead, n - STEPS, now, answer_ms=answer_ms) if n > STEPS else now


def nth_start(pace: Pace, n: int, now: int, *, answer_ms: float = 0.0) -> int:
    """The same in one step, and less exact where hours of the day and limits meet."""
    wait = pace.wait_when_free(now)
    first = now + wait
    if n <= 1:
        return first
    policy, spread = pace.policy, pace.policy.spread
    step = max(_mean_delay(pace), answer_ms / (1 if pace.resting else policy.concurrency))
    full = (pace.level_at(first) - (policy.burst_limit - 1)) * spread

    def by_delay_and_spread(n: int) -> int:
        return _working(pace, first, max((n - 1) * step, full + (n - 1) * spread))

    at = by_delay_and_spread(n)
    if policy.requests_per_hour and policy.burst_limit > 1:
        at = max(at, _hour_by_hour(pace, n, first, by_delay_and_spread))
    hours = policy.hours
    return at if hours is None else hours.opens_at(at + pace.offset) - pace.offset


def _mean_delay(pace: Pace) -> float:
    policy = pace.policy
    drawn = (policy.min_delay + max(policy.min_delay, policy.max_delay)) / 2
    return pace.stretched(drawn) + 1 if drawn or pace.strain.stretch > 1 else 0.0


def _hour_by_hour(pace: Pace, n: int, first: int, by_others: Callable[[int], int]) -> int:
    """An hour after the one that came as many before as the limit allows: one of the past, or
    one of those foretold. `by_others` says when the n-th comes by the other rules."""
    limit = pace.policy.requests_per_hour
    whole, early = divmod(n - 1, limit)
    pace.hour.forget(first)
    free_at = pace.hour.free_at(limit - early)
    return max(by_others(early + 1), free_at or first) + whole * HOUR


def _working(pace: Pace, at: int, span: float) -> int:
    """The moment when so much polite time in which requests may start has passed."""
    span = min(max(0.0, span), FARTHEST)
    hours = pace.policy.hours
    if hours is None:
        return at + round(span)
    return (_open(hours, at + pace.offset, span) if hours.closed
            else hours.after(at + pace.offset, span)) - pace.offset  # fmt: skip


def _open(hours: Hours, at: int, span: float) -> int:
    start = at
    while at - start < FARTHEST:
        at = hours.opens_at(at)
        until = hours.changes_at(at)
        if at + span <= until:
            return at + round(span)
        span -= until - at
        at = until
    return at
