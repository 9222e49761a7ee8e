"""Changes that would make a late job end in time. Each is tried on a copy of the source's pace and
is returned only if that change alone suffices."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import ceil

from curtsy.clock import HOUR
from curtsy.politeness.forecast import start_of
from curtsy.politeness.pace import Pace
from curtsy.politeness.policy import Policy


@dataclass(frozen=True, slots=True)
class Advice:
    """Changes at the source that ends last. None: the change alone does not suffice."""

    source: str
    pages_in_time: int
    """Pages of the job that would be in time without any change."""
    with_priority_1_at: int | None
    """When the job would end if all its pages had priority 1."""
    delay_needed: int | None
    """Milliseconds between two requests."""
    per_hour_needed: int | None
    without_hours_at: int | None
    """When the job would end if the source had no respectful hours."""


@dataclass(frozen=True, slots=True)
class LateSource:
    """A source that ends after `finish_by`."""

    name: str
    pace: Pace
    ahead: int
    """Visits before the job's last page."""
    if_first: int | None
    """The same if all pages of the job had priority 1; None: they have."""
    robots: int
    """Requests for robots.txt, which precede all pages."""
    pages: int
    answer_ms: float
    finish_by: int
    now: int

    def end(self, requests: int, policy: Policy | None = None) -> int:
        """When this many requests from now have started, under another policy if one is given."""
        pace = self.pace.copy()
        if policy is not None:
            pace.adopt(policy)
        return start_of(pace, requests + self.robots, self.now, answer_ms=self.answer_ms)


def advise(late: LateSource) -> Advice:
    policy, requests = late.pace.policy, late.ahead + late.pages
    spare = max(1, late.finish_by - late.now)

    def in_time(at: int) -> int | None:
        return at if at <= late.finish_by else None

    delay = spare // max(1, requests + late.robots)
    shorter_delay_suffices = policy.min_delay > delay and late.end(
        requests, replace(policy, min_delay=delay, max_delay=min(policy.max_delay, delay))
    ) <= late.finish_by  # fmt: skip
    limit = ceil((requests + late.robots) * HOUR / spare)
    larger_limit_suffices = 0 < policy.requests_per_hour < limit and late.end(
        requests, replace(policy, requests_per_hour=limit)
    ) <= late.finish_by  # fmt: skip
    first = None if late.if_first is None else late.end(late.if_first + late.pages)
    open_always = late.end(requests, replace(policy, hours=None)) if policy.hours else None
    return Advice(
        late.name,
        pages_in_time=max(0, _most_in_time(late.end, late.finish_by, requests) - late.ahead),
        with_priority_1_at=in_time(first) if first is not None else None,
        delay_needed=delay if shorter_delay_suffices else None,
        per_hour_needed=limit if larger_limit_suffices else None,
        without_hours_at=None if open_always is None else in_time(open_always),
    )


def _most_in_time(end: Callable[[int], int], finish_by: int, too_many: int) -> int:
    """The largest number of requests that end in time."""
    fits = 0
    while too_many - fits > 1:
        middle = (fits + too_many) // 2
        fits, too_many = (middle, too_many) if end(middle) <= finish_by else (fits, middle)
    return fits
