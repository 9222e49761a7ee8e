"""Simulates the schedules on a virtual clock: slots fire and pages start by the rules of the real
schedulers and workers. Pure.

Slots are judged by the function that schedulers use. The pages of a run are known as far as its
payload determines them: for a crawl only the start pages and the limit, so a preview simulates
both.
"""

from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import heapify, heappop, heappush
from typing import Literal

from curtsy.schedules.preview.source_queue import (
    IN_A_STEP,
    Effort,
    PageGroup,
    SourceQueue,
    SourceState,
)
from curtsy.schedules.verdict import Overlap, ScheduleState, Verdict, judge
from curtsy.timetable import Every, slot_after

MOST_SLOTS = 100_000
MOST_EFFORT = 1_000_000
"""Steps of computation: a few seconds."""
STEPS_FOR_A_VERDICT = 5
MOST_CLASHES = 1_000
"""Counted pairs of schedules at a source."""
MIN_STEP = 1
"""Milliseconds between two verdicts on one schedule, at least."""


@dataclass(frozen=True, slots=True)
class PageDemand:
    """The pages of one source that a slot requests."""

    source: str
    pages: int
    most: int
    """The limit, if the run follows links."""
    priority: int = 5


@dataclass(frozen=True, slots=True)
class SimulatedSchedule:
    """A schedule in its current state, with the pages that its payload requests."""

    id: str
    name: str
    schedule_state: ScheduleState
    look_at: int
    demands: Sequence[PageDemand] = ()
    max_age: int = 0
    """Pages that were fetched within this time are cached, and are not requested again."""
    fetched_at: int | None = None
    """When a run of the schedule last fetched its pages."""
    busy_until: int = 0
    """The expected end of the run that is open now."""
    shares: Hashable = None
    """Schedules with the same value, such as a site, run one at a time."""
    refused: str | None = None
    """Why its slots are refused."""


Outcome = Literal["fired", "skipped", "waiting", "refused"]


@dataclass(slots=True, eq=False)
class Slot:
    schedule: SimulatedSchedule
    at: int
    outcome: Outcome
    starts_at: int | None = None
    """Later than `at` if the slot waited for the previous run."""
    next_at: int | None = None
    """The next slot."""
    pages: int = 0
    batches: list[tuple[SourceQueue, PageGroup]] = field(default_factory=list)
    cut_at: int | None = None
    """When the next slot replaced this run."""
    ends_at: int | None = None
    """None: unknown, or there is no run."""

    @property
    def overruns(self) -> bool:
        """Whether the run cannot end before the next slot."""
        if self.starts_at is None or self.next_at is None:
            return False
        return self.cut_at is not None or self.ends_at is None or self.ends_at > self.next_at


@dataclass(slots=True)
class Clash:
    """Two schedules: one requests pages while pages of the other wait at the same source."""

    source: str
    names: tuple[str, str]
    first_at: int
    times: int = 0


@dataclass(frozen=True, slots=True)
class SimulationResult:
    slots: Sequence[Slot]
    starts: Mapping[tuple[str, int], int]
    """Number of pages by source and by the hour in which they start."""
    clashes: Sequence[Clash]
    until: int
    capped: bool
    """The simulation reached a limit and stopped at `until`."""


@dataclass(frozen=True, slots=True)
class Preview:
    """Two simulations: with the pages that are certain, and with as many as crawls may fetch."""

    least: SimulationResult
    most: SimulationResult


def preview(
    schedules: Sequence[SimulatedSchedule],
    sources: Mapping[str, SourceState],
    *,
    now: int,
    until: int,
) -> Preview:
    least = simulate(schedules, sources, now=now, until=until)
    if all(demand.most == demand.pages for one in schedules for demand in one.demands):
        return Preview(least, least)
    return Preview(least, simulate(schedules, sources, now=now, until=least.until, most=True))


def simulate(
    schedules: Sequence[SimulatedSchedule], sources: Mapping[str, SourceState], *, now: int,
    until: int, most: bool = False,
) -> SimulationResult:  # fmt: skip
    """With `most`, every crawl fetches as many pages as it may."""
    return _Simulation(schedules, sources, now, most=most).run(until)


@dataclass(slots=True, eq=False)
class _State:
    plan: SimulatedSchedule
    schedule_state: ScheduleState
    fetched_at: int | None
    last: Slot | None = None
    """The last slot that fired."""
    waits: Slot | None = None


class _Simulation:
    def __init__(
        self, schedules: Sequence[SimulatedSchedule], sources: Mapping[str, SourceState],
        now: int, *, most: bool,
    ) -> None:  # fmt: skip
        self._now, self._most, self._effort = now, most, Effort()
        self._states = [_State(one, one.schedule_state, one.fetched_at) for one in schedules]
        self._queues = {name: SourceQueue(source, now, self._effort)
                       for name, source in sources.items()}  # fmt: skip
        self._open_runs: defaultdict[Hashable, list[Slot]] = defaultdict(list)
        self._slots: list[Slot] = []
        self._clashes: dict[tuple[str, str, str], Clash] = {}

    def run(self, until: int) -> SimulationResult:
        due = [(max(self._now, state.plan.look_at), number)
               for number, state in enumerate(self._states)]  # fmt: skip
        heapify(due)
        capped = False
        while due and due[0][0] <= until:
            at, number = heappop(due)
            if len(self._slots) >= MOST_SLOTS or self._effort.spent > MOST_EFFORT:
                until, capped = at, True
                break
            self._effort.spent += STEPS_FOR_A_VERDICT
            next_at = self._judge(self._states[number], at)
            if next_at is not None:
                heappush(due, (max(next_at, at + MIN_STEP), number))
        return self._result(until, capped=capped)

    def _judge(self, state: _State, now: int) -> int | None:
        """Judges a schedule as a scheduler would. Returns when to judge it next."""
        open_runs = self._open_runs[_run_group(state.plan)]
        open_runs[:] = [slot for slot in open_runs if not _is_over(slot, now)]
        ended_at = state.last.ends_at if state.last is not None else None
        schedule_state = replace(
            state.schedule_state, is_busy=bool(open_runs) or now < state.plan.busy_until,
            ended_at=max(state.schedule_state.ended_at, ended_at or 0),
        )  # fmt: skip
        verdict = judge(schedule_state, now)
        if verdict.skipped is not None:
            self._slots.append(Slot(state.plan, verdict.skipped, "skipped"))
        waited = state.waits
        if verdict.waiting is not None and verdict.waiting != schedule_state.waiting:
            state.waits = Slot(state.plan, verdict.waiting, "waiting")
            self._slots.append(state.waits)
        if verdict.fire is not None:
            same = waited if waited is not None and waited.at == verdict.fire else None
            self._fire(state, verdict, same, now)
        state.schedule_state = replace(schedule_state, next_fire_at=verdict.next_fire_at,
                                 waiting=verdict.waiting)  # fmt: skip
        return self._next_check(state, verdict, now)

    def _next_check(self, state: _State, verdict: Verdict, now: int) -> int | None:
        """A scheduler polls for the end of a run; here the earliest possible end is computed."""
        rule = state.schedule_state.rule
        after_end = isinstance(rule, Every) and rule.after_end and verdict.next_fire_at is None
        if verdict.waiting is None and not after_end:
            return verdict.look_at
        ends = [end for slot in self._open_runs[_run_group(state.plan)]
                if (end := _ends_no_sooner(slot)) is not None]  # fmt: skip
        ends += [at for at in (verdict.next_fire_at, state.plan.busy_until) if at and at > now]
        return min(ends, default=None)

    def _fire(self, state: _State, verdict: Verdict, waited: Slot | None, now: int) -> None:
        plan, at = state.plan, verdict.fire
        assert at is not None
        slot = waited or Slot(plan, at, "fired")
        if waited is None:
            self._slots.append(slot)
        slot.outcome = "fired" if plan.refused is None else "refused"
        slot.starts_at, slot.next_at = now, _following(plan.schedule_state, at, verdict)
        open_runs = self._open_runs[_run_group(plan)]
        if plan.schedule_state.overlap is Overlap.CANCEL_RUNNING:
            for before in [one for one in open_runs if one.schedule is plan]:
                open_runs.remove(before)
                _cut(before, now)
        is_fresh = state.fetched_at is not None and now < state.fetched_at + plan.max_age
        if plan.refused is None and not is_fresh:
            state.fetched_at = now
            for demand in plan.demands:
                self._add_demand(slot, demand, now)
        open_runs.append(slot)
        state.last = slot

    def _add_demand(self, slot: Slot, demand: PageDemand, now: int) -> None:
        queue = self._queues[demand.source]
        queue.advance(now)
        self._effort.spent += len(queue.waiting) // IN_A_STEP
        others = {batch.schedule for batch in queue.waiting if batch.schedule is not None}
        for other in others - {slot.schedule.name}:
            self._count_clash(demand.source, slot.schedule.name, other, now)
        batch = PageGroup(
            slot.schedule.name, demand.most if self._most else demand.pages, demand.priority
        )
        queue.join(batch, now)
        slot.batches.append((queue, batch))
        slot.pages += batch.left

    def _count_clash(self, source: str, one: str, other: str, now: int) -> None:
        first, second = sorted((one, other))
        key = source, first, second
        if key not in self._clashes and len(self._clashes) < MOST_CLASHES:
            self._clashes[key] = Clash(source, (first, second), now)
        if key in self._clashes:
            self._clashes[key].times += 1

    def _result(self, until: int, *, capped: bool) -> SimulationResult:
        for queue in self._queues.values():
            queue.advance(until)
        starts = Counter({(name, hour): pages for name, queue in self._queues.items()
                          for hour, pages in queue.starts.items()})  # fmt: skip
        for queue in self._queues.values():
            queue.finish()
        for slot in self._slots:
            _is_over(slot, until)
        self._slots.sort(key=lambda slot: slot.at)
        return SimulationResult(self._slots, starts, list(self._clashes.values()), until, capped)


def _run_group(plan: SimulatedSchedule) -> Hashable:
    return plan.id if plan.shares is None else plan.shares


def _following(schedule_state: ScheduleState, at: int, verdict: Verdict) -> int | None:
    """Returns the slot after one that fires; None with `after_end`: such a run cannot overrun."""
    if isinstance(schedule_state.rule, Every) and schedule_state.rule.after_end:
        return None
    onward = verdict.next_fire_at
    return (
        onward
        if onward is not None
        else slot_after(schedule_state.rule, at, seed=schedule_state.seed)
    )


def _is_over(slot: Slot, now: int) -> bool:
    if slot.ends_at is None and slot.starts_at is not None and slot.cut_at is None:
        slot.ends_at = _end(slot, now)
    return slot.ends_at is not None and slot.ends_at <= now


def _end(slot: Slot, now: int) -> int | None:
    end = slot.starts_at or 0
    for queue, batch in slot.batches:
        queue.advance(now)
        if batch.last_start_at is None:
            return None
        end = max(end, batch.last_start_at + round(queue.source_state.answer_ms))
    return end


def _ends_no_sooner(slot: Slot) -> int | None:
    ends = [queue.not_before(batch) for queue, batch in slot.batches]
    answers = [round(queue.source_state.answer_ms) for queue, _batch in slot.batches]
    if any(end is None for end in ends):
        return None
    all_ends = [end + answer for end, answer in zip(ends, answers, strict=True) if end is not None]
    return max([slot.starts_at or 0, *all_ends])


def _cut(slot: Slot, now: int) -> None:
    slot.cut_at = slot.ends_at = now
    for queue, batch in slot.batches:
        queue.drop(batch)
