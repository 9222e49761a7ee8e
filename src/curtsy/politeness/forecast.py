"""Predicts when the n-th request from now starts, from the rules that pace requests.

`start_of` runs a copy of the pace on a simulated clock for the first requests. For later ones, and
for frequent calls, `nth_start` computes the start under each rule alone, for a source that always
has work; the slowest rule decides. Random delays count with their mean.
"""

import random
from collections import deque
from collections.abc import Callable

from curtsy.clock import HOUR
from curtsy.politeness.hours import FARTHEST, Hours
from curtsy.politeness.pace import Pace

STEPS = 300
"""The number of starts that are simulated one by one."""


class _Middle(random.Random):
    def random(self) -> float:
        return 0.5


MIDDLE = _Middle()
"""A random generator that makes every random delay the mean."""


def start_of(pace: Pace, n: int, now: int, *, answer_ms: float = 0.0) -> int:
    """The n-th start from now. `answer_ms` is the duration of a request, which matters where few
    may be open at once."""
    policy = pace.policy
    if policy.hours is None and not policy.requests_per_hour:
        return nth_start(pace, n, now, answer_ms=answer_ms)
    ahead, farthest = pace.copy(), now + FARTHEST
    open_until = deque([now] * (1 if pace.resting else policy.concurrency))
    for _ in range(min(n, STEPS)):
        now = max(now, open_until.popleft())
        now += ahead.wait_when_free(now)
        ahead.request_left(now, MIDDLE)
        open_until.append(now + round(answer_ms))
        if now >= farthest:
            return farthest
    return nth_start(ahead, n - STEPS, now, answer_ms=answer_ms) if n > STEPS else now


def nth_start(pace: Pace, n: int, now: int, *, answer_ms: float = 0.0) -> int:
    """The same in one step; less exact where respectful hours and the hourly limit meet."""
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
    """The n-th start under the hourly limit: an hour after the request that lies `limit` requests
    before it, be that a past or a predicted one. `by_others` is the n-th start under the other
    rules."""
    limit = pace.policy.requests_per_hour
    whole, early = divmod(n - 1, limit)
    pace.hour.forget(first)
    free_at = pace.hour.free_at(limit - early)
    return max(by_others(early + 1), free_at or first) + whole * HOUR


def _working(pace: Pace, at: int, span: float) -> int:
    """The moment at which this much polite time has passed, closed hours not counted."""
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
