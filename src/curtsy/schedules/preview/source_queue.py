"""Simulates the requests of one source on a virtual clock.

While pages wait, the n-th request starts when `nth_start` predicts it, from the source's current
pace and by the rules that pace real requests. Better priorities go first, and within one priority
runs take turns.
"""

from collections import Counter
from dataclasses import dataclass, field

from curtsy.clock import DAY, HOUR
from curtsy.politeness.forecast import MIDDLE, nth_start
from curtsy.politeness.pace import Pace

USUAL = 5
"""The assumed priority of visits that wait already: most have it."""
FIRST = 0
IN_A_STEP = 16
"""Waiting batches that count as one step of computation."""
STEPS_FOR_A_DAY = 10
"""For a source with respectful hours: each simulated day costs this many steps."""


@dataclass(frozen=True, slots=True)
class SourceState:
    name: str
    pace: Pace
    """The current pace; times are instants."""
    ahead: int = 0
    """Visits that wait already."""
    unknown_robots: int = 0
    """Hosts whose robots.txt is fetched first."""
    is_paused: bool = False

    @property
    def answer_ms(self) -> float:
        return self.pace.strain.recent


@dataclass(slots=True, eq=False)
class PageGroup:
    """Pages of one run at one source; `left` of them have not started yet."""

    schedule: str | None
    """The name of the run's schedule; None for pages that wait already."""
    left: int
    priority: int = USUAL
    last_start_at: int | None = None
    """Set once no page is left."""


@dataclass(slots=True)
class Effort:
    """Steps of computation so far."""

    spent: int = 0


@dataclass(slots=True, eq=False)
class SourceQueue:
    source_state: SourceState
    since: int
    """The start of the stretch in which pages wait without a gap."""
    effort: Effort = field(default_factory=Effort)
    starts: Counter[int] = field(default_factory=Counter)
    """Started pages of runs, by hour (in milliseconds)."""
    waiting: list[PageGroup] = field(default_factory=list)
    _pace: Pace = field(init=False)
    _taken: int = 0
    """Requests started within the stretch."""

    def __post_init__(self) -> None:
        source = self.source_state
        self._pace = source.pace.copy()
        robots = source.unknown_robots if source.pace.policy.robots else 0
        self.waiting = [PageGroup(None, left, priority) for left, priority in
                        ((robots, FIRST), (source.ahead, USUAL)) if left]  # fmt: skip

    def join(self, batch: PageGroup, now: int) -> None:
        """Appends a batch at `now`, after `advance(now)`."""
        if not self.waiting:
            self._begin_again(now)
        self.waiting.append(batch)

    def drop(self, batch: PageGroup) -> None:
        """Removes the rest of a batch."""
        self.waiting = [one for one in self.waiting if one is not batch]

    def advance(self, until: int) -> None:
        """Simulates all starts before this instant."""
        while self.waiting and not self.source_state.is_paused:
            at = self._start(self._taken + 1)
            if at >= until:
                return
            hour = at // HOUR * HOUR
            self._take(self._starts_before(min(until, hour + HOUR)) - self._taken, hour)

    def finish(self) -> None:
        """Simulates the starts of all waiting pages, as if no more were added."""
        if not self.source_state.is_paused:
            self._take(self._left(), None)

    def not_before(self, batch: PageGroup) -> int | None:
        """Returns the earliest possible last start of the batch; None: unknown."""
        if batch.last_start_at is not None:
            return batch.last_start_at
        return None if self.source_state.is_paused else self._start(self._taken + batch.left)

    def _start(self, n: int) -> int:
        at = nth_start(self._pace, n, self.since, answer_ms=self.source_state.answer_ms)
        days = (at - self.since) // DAY if self._pace.policy.hours is not None else 0
        self.effort.spent += 1 + days * STEPS_FOR_A_DAY
        return at

    def _left(self) -> int:
        return sum(batch.left for batch in self.waiting)

    def _starts_before(self, edge: int) -> int:
        """Returns how many requests of the stretch start before `edge`; at least one more than so
        far."""
        low, most, step = self._taken + 1, self._taken + self._left(), 1
        high = min(most, low + step)
        while high > low and self._start(high) < edge:
            step *= 2
            low, high = high, min(most, high + step)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._start(middle) < edge else (low, middle)
        return low

    def _take(self, many: int, hour: int | None) -> None:
        while many:
            best = min(batch.priority for batch in self.waiting)
            turn = [batch for batch in self.waiting if batch.priority == best]
            rounds = min(many // len(turn), *(batch.left for batch in turn))
            if not rounds:  # not a full round: batches that had a turn go last in the next one
                later = [batch for batch in self.waiting if batch.priority != best]
                self.waiting = [*later, *turn[many:], *turn[:many]]
                turn, rounds = turn[:many], 1
            self.effort.spent += len(self.waiting) // IN_A_STEP
            for place, batch in enumerate(turn, 1):
                batch.left -= rounds
                if not batch.left:
                    before = self._taken + (rounds - 1) * len(turn)
                    batch.last_start_at = self._start(before + place)
                if hour is not None and batch.schedule is not None:
                    self.starts[hour] += rounds
            self._taken += rounds * len(turn)
            many -= rounds * len(turn)
            self.waiting = [batch for batch in self.waiting if batch.left]

    def _begin_again(self, now: int) -> None:
        """Starts a new stretch after an idle time, with the pace that the last starts left."""
        pace = self._pace
        first = max(1, self._taken + 1 - (pace.policy.requests_per_hour or 1))
        for at in [self._start(n) for n in range(first, self._taken + 1)]:
            pace.started()
            pace.sent(at, MIDDLE)
            pace.ended(at, MIDDLE, was_sent=True)
        pace.resting = pace.resting and not self._taken
        self.since, self._taken = now, 0
