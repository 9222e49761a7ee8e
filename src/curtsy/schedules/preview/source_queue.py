"""What a source would be asked for and when, on a clock that nobody has to wait for.

As long as something waits, its n-th request starts when `nth_start` foretells it: by the pace that
the real one has, and by the rules that pace the real ones. Better priorities go first, and within
one priority runs take turns.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from curtsy.clock import DAY, HOUR
from curtsy.politeness.forecast import MIDDLE, nth_start
from curtsy.politeness.pace import Pace

ANYBODY = 5
"""The priority of what waits by now: most have it."""
FIRST = 0
IN_A_STEP = 16
"""So many that wait are looked at in one."""
STEPS_FOR_A_DAY = 10
"""Of a source that wants less at some hours: each day's are looked for."""


@dataclass(frozen=True, slots=True)
class SourceNow:
    name: str
    pace: Pace
    """As it stands; times are instants."""
    ahead: int = 0
    """Visits that wait by now."""
    unknown_robots: int = 0
    """Hosts whose robots.txt is asked for first."""
    is_paused: bool = False

    @property
    def answer_ms(self) -> float:
        return self.pace.strain.recent


@dataclass(slots=True, eq=False)
class Batch:
    """Pages of one run that one source is asked for; `left` of them have not started yet."""

    run: Any
    """None: of nobody's run, but it waits here by now."""
    left: int
    priority: int = ANYBODY
    last_start_at: int | None = None
    """Once none is left."""


@dataclass(slots=True)
class Effort:
    """Steps of computation so far."""

    spent: int = 0


@dataclass(slots=True, eq=False)
class SourceLine:
    now_has: SourceNow
    since: int
    """Where the stretch begins in which something waits all the time."""
    effort: Effort = field(default_factory=Effort)
    starts: Counter[int] = field(default_factory=Counter)
    """By the hour, as milliseconds: pages of runs that start in it."""
    waiting: list[Batch] = field(default_factory=list)
    _pace: Pace = field(init=False)
    _taken: int = 0
    """Starts within the stretch."""

    def __post_init__(self) -> None:
        has = self.now_has
        self._pace = has.pace.copy()
        robots = has.unknown_robots if has.pace.policy.robots else 0
        self.waiting = [Batch(None, left, priority) for left, priority in
                        ((robots, FIRST), (has.ahead, ANYBODY)) if left]  # fmt: skip

    def join(self, batch: Batch, now: int) -> None:
        """After all that starts before `now` has started."""
        if not self.waiting:
            self._begin_again(now)
        self.waiting.append(batch)

    def drop(self, batch: Batch) -> None:
        """What is left of it is not asked for any more."""
        self.waiting = [one for one in self.waiting if one is not batch]

    def advance(self, until: int) -> None:
        """All starts before this moment."""
        while self.waiting and not self.now_has.is_paused:
            at = self._start(self._taken + 1)
            if at >= until:
                return
            hour = at // HOUR * HOUR
            self._take(self._starts_before(min(until, hour + HOUR)) - self._taken, hour)

    def finish(self) -> None:
        """All that waits, as if nothing joined it any more."""
        if not self.now_has.is_paused:
            self._take(self._left(), None)

    def not_before(self, batch: Batch) -> int | None:
        """The last start of the batch comes no sooner; None: nobody can tell."""
        if batch.last_start_at is not None:
            return batch.last_start_at
        return None if self.now_has.is_paused else self._start(self._taken + batch.left)

    def _start(self, n: int) -> int:
        at = nth_start(self._pace, n, self.since, answer_ms=self.now_has.answer_ms)
        days = (at - self.since) // DAY if self._pace.policy.hours is not None else 0
        self.effort.spent += 1 + days * STEPS_FOR_A_DAY
        return at

    def _left(self) -> int:
        return sum(batch.left for batch in self.waiting)

    def _starts_before(self, edge: int) -> int:
        """How many there are in the stretch; at least one more than so far."""
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
            if not rounds:  # not a whole one: who has had a turn is last in the next
                later = [batch for batch in self.waiting if batch.priority != best]
                self.waiting = [*later, *turn[many:], *turn[:many]]
                turn, rounds = turn[:many], 1
            self.effort.spent += len(self.waiting) // IN_A_STEP
            for place, batch in enumerate(turn, 1):
                batch.left -= rounds
                if not batch.left:
                    before = self._taken + (rounds - 1) * len(turn)
                    batch.last_start_at = self._start(before + place)
                if hour is not None and batch.run is not None:
                    self.starts[hour] += rounds
            self._taken += rounds * len(turn)
            many -= rounds * len(turn)
            self.waiting = [batch for batch in self.waiting if batch.left]

    def _begin_again(self, now: int) -> None:
        """After a time without work, with the pace as the last starts left it."""
        pace = self._pace
        first = max(1, self._taken + 1 - (pace.policy.requests_per_hour or 1))
        for at in [self._start(n) for n in range(first, self._taken + 1)]:
            pace.started()
            pace.sent(at, MIDDLE)
            pace.ended(at, MIDDLE, was_sent=True)
        pace.resting = pace.resting and not self._taken
        self.since, self._taken = now, 0
