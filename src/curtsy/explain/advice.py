"""What would make a job end in time: changes that were tried on the pacer, and would do alone."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import ceil

from curtsy.clock import HOUR
from curtsy.politeness.forecast import start_of
from curtsy.politeness.pace import Pace
from curtsy.politeness.policy import Policy


@dataclass(frozen=True, slots=True)
class Advice:
    """At the source that ends last. None: that alone would not do."""

    source: str
    pages_in_time: int
    """So many of the job's would be, as things are."""
    with_priority_1_at: int | None
    """When it would end if all its pages went first."""
    delay_needed: int | None
    """Milliseconds between two requests."""
    per_hour_needed: int | None
    without_hours_at: int | None
    """When it would end if the site had no hours in which it wants less, or nothing."""


@dataclass(frozen=True, slots=True)
class Late:
    """A source that ends too late."""

    name: str
    pace: Pace
    ahead: int
    """Visits before the job's last."""
    if_first: int | None
    """The same if all its pages had priority 1; None: they have."""
    robots: int
    """Requests for robots.txt, which come first in any case."""
    pages: int
    answer_ms: float
    finish_by: int
    now: int

    def end(self, requests: int, policy: Policy | None = None) -> int:
        """When so many requests from now have started, if the policy were that."""
        pace = self.pace.copy()
        if policy is not None:
            pace.adopt(policy)
        return start_of(pace, requests + self.robots, self.now, answer_ms=self.answer_ms)


def advise(late: Late) -> Advice:
    policy, requests = late.pace.policy, late.ahead + late.pages
    spare = max(1, late.finish_by - late.now)

    def in_time(at: int) -> int | None:
        return at if at <= late.finish_by else None

    delay = spare // max(1, requests + late.robots)
    slower = policy.min_delay > delay and late.end(
        requests, replace(policy, min_delay=delay, max_delay=min(policy.max_delay, delay))
    ) <= late.finish_by  # fmt: skip
    limit = ceil((requests + late.robots) * HOUR / spare)
    fewer = 0 < policy.requests_per_hour < limit and late.end(
        requests, replace(policy, requests_per_hour=limit)
    ) <= late.finish_by  # fmt: skip
    first = None if late.if_first is None else late.end(late.if_first + late.pages)
    open_always = late.end(requests, replace(policy, hours=None)) if policy.hours else None
    return Advice(
        late.name,
        pages_in_time=max(0, _most(late.end, late.finish_by, requests) - late.ahead),
        with_priority_1_at=in_time(first) if first is not None else None,
        delay_needed=delay if slower else None,
        per_hour_needed=limit if fewer else None,
        without_hours_at=None if open_always is None else in_time(open_always),
    )


def _most(end: Callable[[int], int], finish_by: int, too_many: int) -> int:
    """The largest number of requests that end in time."""
    fits = 0
    while too_many - fits > 1:
        middle = (fits + too_many) // 2
        fits, too_many = (middle, too_many) if end(middle) <= finish_by else (fits, middle)
    return fits
