"""What the schedules will do: their slots by the rules that fire them, their pages by the rules
that pace them, on a clock that nobody has to wait for. Pure.

A slot is judged as a scheduler would judge it. What a run asks for is known as far as its payload
tells: of a crawl only where it begins and how much it may be at most, so a plan is made for both.
"""

from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import heapify, heappop, heappush
from typing import Literal

from curtsy.schedules.preview.source_queue import IN_A_STEP, Batch, Effort, SourceLine, SourceNow
from curtsy.schedules.verdict import Overlap, ScheduleState, Verdict, judge
from curtsy.timetable import Every, slot_after

MOST_SLOTS = 100_000
MOST_EFFORT = 1_000_000
"""Steps of computation: some seconds."""
STEPS_FOR_A_LOOK = 5
MOST_CLASHES = 1_000
"""Pairs of schedules at a source that are told apart."""
AGAIN = 1
"""Milliseconds after the moment before which a run cannot end."""


@dataclass(frozen=True, slots=True)
class Asks:
    """What a slot asks of one source."""

    source: str
    pages: int
    most: int
    """Where links are followed, it may come to this."""
    priority: int = 5


@dataclass(frozen=True, slots=True)
class Foreseen:
    """A schedule as it stands, and what its payload comes to."""

    id: str
    name: str
    schedule_state: ScheduleState
    look_at: int
    asks: Sequence[Asks] = ()
    max_age: int = 0
    """Pages that were fetched so short a while ago are in the store, and not asked for."""
    fetched_at: int | None = None
    """When a run of it fetched them, the last time."""
    busy_until: int = 0
    """A run goes on by now, and may be expected to end then."""
    shares: Hashable = None
    """Of those that have this in common, one runs at a time."""
    refused: str | None = None
    """Why its slots come to nothing."""


Outcome = Literal["fired", "skipped", "waiting", "refused"]


@dataclass(slots=True, eq=False)
class Slot:
    schedule: Foreseen
    at: int
    outcome: Outcome
    starts_at: int | None = None
    """Later than `at` where it waited for the run before."""
    next_at: int | None = None
    """The slot that follows."""
    pages: int = 0
    batches: list[tuple[SourceLine, Batch]] = field(default_factory=list)
    cut_at: int | None = None
    """The next slot took its place."""
    ends_at: int | None = None
    """None: nobody can tell, or there is nothing to end."""

    @property
    def overruns(self) -> bool:
        """It cannot end before the next slot."""
        if self.starts_at is None or self.next_at is None:
            return False
        return self.cut_at is not None or self.ends_at is None or self.ends_at > self.next_at


@dataclass(slots=True)
class Clash:
    """Slots of one ask a source while pages of the other wait there."""

    source: str
    names: tuple[str, str]
    first_at: int
    times: int = 0


@dataclass(frozen=True, slots=True)
class Foretold:
    slots: Sequence[Slot]
    starts: Mapping[tuple[str, int], int]
    """By source and the hour in which they start: pages."""
    clashes: Sequence[Clash]
    until: int
    capped: bool
    """It was too much to look at all of it: what comes after `until` is not foretold."""


@dataclass(frozen=True, slots=True)
class Preview:
    """What is sure, and what it may come to."""

    least: Foretold
    most: Foretold


def preview(
    schedules: Sequence[Foreseen], sources: Mapping[str, SourceNow], *, now: int, until: int
) -> Preview:
    least = foretell(schedules, sources, now=now, until=until)
    if all(asks.most == asks.pages for one in schedules for asks in one.asks):
        return Preview(least, least)
    return Preview(least, foretell(schedules, sources, now=now, until=least.until, most=True))


def foretell(
    schedules: Sequence[Foreseen], sources: Mapping[str, SourceNow], *, now: int, until: int,
    most: bool = False,
) -> Foretold:  # fmt: skip
    """`most`: as if every crawl found as much as it may fetch."""
    return _Course(schedules, sources, now, most=most).run(until)


@dataclass(slots=True, eq=False)
class _State:
    plan: Foreseen
    schedule_state: ScheduleState
    fetched_at: int | None
    last: Slot | None = None
    """That fired."""
    waits: Slot | None = None


class _Course:
    def __init__(
        self, schedules: Sequence[Foreseen], sources: Mapping[str, SourceNow], now: int, *,
        most: bool,
    ) -> None:  # fmt: skip
        self._now, self._most, self._effort = now, most, Effort()
        self._states = [_State(one, one.schedule_state, one.fetched_at) for one in schedules]
        self._lines = {name: SourceLine(source, now, self._effort)
                       for name, source in sources.items()}  # fmt: skip
        self._going: defaultdict[Hashable, list[Slot]] = defaultdict(list)
        self._slots: list[Slot] = []
        self._clashes: dict[tuple[str, str, str], Clash] = {}

    def run(self, until: int) -> Foretold:
        looks = [(max(self._now, state.plan.look_at), number)
                 for number, state in enumerate(self._states)]  # fmt: skip
        heapify(looks)
        capped = False
        while looks and looks[0][0] <= until:
            at, number = heappop(looks)
            if len(self._slots) >= MOST_SLOTS or self._effort.spent > MOST_EFFORT:
                until, capped = at, True
                break
            self._effort.spent += STEPS_FOR_A_LOOK
            again = self._look(self._states[number], at)
            if again is not None:
                heappush(looks, (max(again, at + AGAIN), number))
        return self._told(until, capped=capped)

    def _look(self, state: _State, now: int) -> int | None:
        """When to look again."""
        going = self._going[_together(state.plan)]
        going[:] = [slot for slot in going if not _is_over(slot, now)]
        ended_at = state.last.ends_at if state.last is not None else None
        schedule_state = replace(
            state.schedule_state, is_busy=bool(going) or now < state.plan.busy_until,
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
            of_old = waited if waited is not None and waited.at == verdict.fire else None
            self._fire(state, verdict, of_old, now)
        state.schedule_state = replace(schedule_state, next_fire_at=verdict.next_fire_at,
                                 waiting=verdict.waiting)  # fmt: skip
        return self._look_again(state, verdict, now)

    def _look_again(self, state: _State, verdict: Verdict, now: int) -> int | None:
        """A scheduler asks every other second whether a run has ended; here that is foretold."""
        rule = state.schedule_state.rule
        after_end = isinstance(rule, Every) and rule.after_end and verdict.next_fire_at is None
        if verdict.waiting is None and not after_end:
            return verdict.look_at
        ends = [end for slot in self._going[_together(state.plan)]
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
        going = self._going[_together(plan)]
        if plan.schedule_state.overlap is Overlap.CANCEL_RUNNING:
            for before in [one for one in going if one.schedule is plan]:
                going.remove(before)
                _cut(before, now)
        is_fresh = state.fetched_at is not None and now < state.fetched_at + plan.max_age
        if plan.refused is None and not is_fresh:
            state.fetched_at = now
            for asks in plan.asks:
                self._ask(slot, asks, now)
        going.append(slot)
        state.last = slot

    def _ask(self, slot: Slot, asks: Asks, now: int) -> None:
        line = self._lines[asks.source]
        line.advance(now)
        self._effort.spent += len(line.waiting) // IN_A_STEP
        others = {batch.run.schedule.name for batch in line.waiting if batch.run is not None}
        for other in others - {slot.schedule.name}:
            self._note_clash(asks.source, slot.schedule.name, other, now)
        batch = Batch(slot, asks.most if self._most else asks.pages, asks.priority)
        line.join(batch, now)
        slot.batches.append((line, batch))
        slot.pages += batch.left

    def _note_clash(self, source: str, one: str, other: str, now: int) -> None:
        first, second = sorted((one, other))
        key = source, first, second
        if key not in self._clashes and len(self._clashes) < MOST_CLASHES:
            self._clashes[key] = Clash(source, (first, second), now)
        if key in self._clashes:
            self._clashes[key].times += 1

    def _told(self, until: int, *, capped: bool) -> Foretold:
        for line in self._lines.values():
            line.advance(until)
        starts = Counter({(name, hour): pages for name, line in self._lines.items()
                          for hour, pages in line.starts.items()})  # fmt: skip
        for line in self._lines.values():
            line.finish()
        for slot in self._slots:
            _is_over(slot, until)
        self._slots.sort(key=lambda slot: slot.at)
        return Foretold(self._slots, starts, list(self._clashes.values()), until, capped)


def _together(plan: Foreseen) -> Hashable:
    return plan.id if plan.shares is None else plan.shares


def _following(schedule_state: ScheduleState, at: int, verdict: Verdict) -> int | None:
    """The slot after one that fires; of those that count from an end there is none to be late."""
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
    for line, batch in slot.batches:
        line.advance(now)
        if batch.last_start_at is None:
            return None
        end = max(end, batch.last_start_at + round(line.now_has.answer_ms))
    return end


def _ends_no_sooner(slot: Slot) -> int | None:
    ends = [line.not_before(batch) for line, batch in slot.batches]
    answers = [round(line.now_has.answer_ms) for line, _batch in slot.batches]
    if any(end is None for end in ends):
        return None
    told = [end + answer for end, answer in zip(ends, answers, strict=True) if end is not None]
    return max([slot.starts_at or 0, *told])


def _cut(slot: Slot, now: int) -> None:
    slot.cut_at = slot.ends_at = now
    for line, batch in slot.batches:
        line.drop(batch)
