"""What is foretold against what happens, step by step on a clock of our own."""

import random
from collections import Counter
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curtsy.clock import DAY, HOUR, MINUTE, SECOND
from curtsy.politeness.hours import Hours
from curtsy.politeness.pace import Pace
from curtsy.politeness.policy import Policy
from curtsy.schedules.preview import simulation
from curtsy.schedules.preview.simulation import (
    PageDemand,
    SimulatedSchedule,
    SimulationResult,
    Slot,
    preview,
    simulate,
)
from curtsy.schedules.preview.source_queue import SourceState
from curtsy.schedules.verdict import CatchUp, Overlap, ScheduleState, judge
from curtsy.timetable import Cron, Every, Once, Rule, slot_after

NOON = 1_774_699_200_000
"""A full hour."""


def plan(
    name: str, rule: Rule, *demands: PageDemand, overlap: Overlap = Overlap.SKIP
) -> SimulatedSchedule:
    after_end = isinstance(rule, Every) and rule.after_end
    first = NOON if after_end else slot_after(rule, NOON - 1, seed=name)
    assert first is not None
    schedule_state = ScheduleState(
        rule=rule, seed=name, overlap=overlap, catch_up=CatchUp.LATEST, window=DAY,
        next_fire_at=first, waiting=None, is_busy=False, ended_at=NOON,
    )  # fmt: skip
    return SimulatedSchedule(
        id=name, name=name, schedule_state=schedule_state, look_at=first, demands=demands
    )


def source(name: str = "a", policy: Policy | None = None, **more: Any) -> dict[str, SourceState]:
    return {name: SourceState(name, Pace(policy or Policy(), rest_until=NOON), **more)}


def pages(number: int, of: str = "a", *, most: int | None = None, priority: int = 5) -> PageDemand:
    return PageDemand(of, number, most or number, priority)


def outcomes(told: SimulationResult, name: str) -> list[tuple[int, str]]:
    """Minutes after noon, and what becomes of the slot."""
    return [((slot.at - NOON) // MINUTE, slot.outcome) for slot in told.slots
            if slot.schedule.name == name]  # fmt: skip


def every(minutes: int) -> Every:
    return Every(minutes, jitter=False)


@dataclass
class Simulation:
    """The pacer asked for every request, the rules for every look: slow, and beyond doubt."""

    schedules: Sequence[SimulatedSchedule]
    sources: dict[str, SourceState]
    slots: list[tuple[str, int, str]] = field(default_factory=list)
    ends: dict[tuple[str, int], int] = field(default_factory=dict)
    starts: Counter[tuple[str, int]] = field(default_factory=Counter)
    clashes: set[tuple[str, str, str]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.paces = {name: deepcopy(one.pace) for name, one in self.sources.items()}
        self.queues: dict[str, list[list[Any]]] = {name: [] for name in self.sources}
        self.standings = {one.name: one.schedule_state for one in self.schedules}
        self.rng = random.Random(7)

    def run(self, until: int) -> None:
        looks = {one.name: one.look_at for one in self.schedules}
        now = NOON
        while True:
            starts = {name: now + max(0, self.paces[name].wait(now) or 0)
                      for name, queue in self.queues.items() if queue}  # fmt: skip
            now = min([*looks.values(), *starts.values()], default=until + 1)
            if now > until:
                return
            for one in self.schedules:
                if looks.get(one.name) == now:
                    looks[one.name] = self.look(one, now) or until + DAY
            for name, at in starts.items():
                if at == now and self.queues[name]:
                    self.start(name, now)

    def start(self, name: str, now: int) -> None:
        queue, pace = self.queues[name], self.paces[name]
        best = min(one[2] for one in queue)
        batch = next(one for one in queue if one[2] == best)
        pace.started()
        pace.sent(now, self.rng)
        pace.ended(now, self.rng, was_sent=True)
        self.starts[name, now // HOUR * HOUR] += 1
        batch[1] -= 1
        queue.remove(batch)
        if batch[1]:
            queue.append(batch)  # its turn comes again after the others'
        self.ends[batch[0]] = now

    def look(self, one: SimulatedSchedule, now: int) -> int | None:
        mine = [b for queue in self.queues.values() for b in queue if b[0][0] == one.name]
        ended = max((at for (name, _), at in self.ends.items() if name == one.name), default=0)
        before = replace(self.standings[one.name], is_busy=bool(mine),
                         ended_at=max(self.standings[one.name].ended_at, ended))  # fmt: skip
        verdict = judge(before, now)
        if verdict.skipped is not None:
            self.slots.append((one.name, verdict.skipped, "skipped"))
        if verdict.fire is not None:
            if one.schedule_state.overlap is Overlap.CANCEL_RUNNING:
                for queue in self.queues.values():
                    queue[:] = [b for b in queue if b[0][0] != one.name]
            self.slots.append((one.name, verdict.fire, "fired"))
            for demands in one.demands:
                others = {b[0][0] for b in self.queues[demands.source]} - {one.name}
                self.clashes |= {(demands.source, *sorted((one.name, o))) for o in others}
                key = one.name, verdict.fire
                self.queues[demands.source].append([key, demands.pages, demands.priority])
        self.standings[one.name] = replace(before, next_fire_at=verdict.next_fire_at,
                                           waiting=verdict.waiting)  # fmt: skip
        return verdict.look_at


policies = st.sampled_from([
    Policy(min_delay=1_000), Policy(min_delay=20_000), Policy(min_delay=100),
    Policy(requests_per_hour=60, burst_limit=10), Policy(requests_per_hour=120, min_delay=0),
    Policy(min_delay=500, max_delay=1_500),
    Policy(min_delay=5_000, hours=Hours(14 * 60, 16 * 60, slowdown=3.0)),
    Policy(min_delay=5_000, hours=Hours(13 * 60, 15 * 60, closed=True)),
])  # fmt: skip
asked = st.builds(
    pages, st.sampled_from([1, 7, 60, 400]), st.sampled_from(["a", "b"]),
    priority=st.sampled_from([1, 5]),
)  # fmt: skip
rules = st.one_of(
    st.builds(Every, st.sampled_from([7, 20, 60, 90]), st.booleans()),
    st.sampled_from([Cron("*/15 * * * *"), Cron("5 13-20 * * *"), Once(NOON + HOUR + 17)]),
)


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.tuples(rules, asked, st.sampled_from([Overlap.SKIP, Overlap.CANCEL_RUNNING])),
             min_size=1, max_size=3),
    policies, policies,
)  # fmt: skip
def test_it_comes_as_it_was_foretold(
    wishes: list[tuple[Rule, PageDemand, Overlap]], one: Policy, other: Policy
) -> None:
    schedules = [plan(f"s{n}", rule, demands, overlap=overlap)
                 for n, (rule, demands, overlap) in enumerate(wishes)]  # fmt: skip
    sources = source("a", one) | source("b", other)
    until = NOON + 9 * HOUR
    real = Simulation(schedules, sources)
    real.run(until)
    told = simulate(schedules, sources, now=NOON, until=until)
    fired = Counter(name for name, _at, outcome in real.slots if outcome == "fired")
    foretold = Counter(slot.schedule.name for slot in told.slots if slot.outcome == "fired")
    assert sum(foretold.values()) == pytest.approx(sum(fired.values()), rel=0.1, abs=2)
    for name in sources:
        came = sum(n for (of, _hour), n in real.starts.items() if of == name)
        said = sum(n for (of, _hour), n in told.starts.items() if of == name)
        assert said == pytest.approx(came, rel=0.1, abs=30)


@pytest.mark.parametrize("overlap", Overlap)
@pytest.mark.parametrize("minutes", [5, 13, 60])
def test_with_a_fixed_delay_it_comes_exactly_so(overlap: Overlap, minutes: int) -> None:
    schedules = [
        plan("news", every(20), pages(100), pages(30, "b"), overlap=overlap),
        plan("blog", every(minutes), pages(70), overlap=overlap),
        plan("urgent", every(45), pages(20, priority=1)),
    ]
    sources = source("a", Policy(min_delay=4_999)) | source("b", Policy(min_delay=9_999))
    until = NOON + 6 * HOUR + 1
    real = Simulation(schedules, sources)
    real.run(until)
    told = simulate(schedules, sources, now=NOON, until=until)
    slots = {(s.schedule.name, s.at, s.outcome) for s in told.slots if s.outcome != "waiting"}
    assert slots == set(real.slots)
    queued = overlap is Overlap.QUEUE_ONE  # a scheduler looks every other second, and fires later
    assert told.starts == pytest.approx(dict(real.starts), abs=3 if queued else 0)
    assert {(c.source, *c.names) for c in told.clashes} == real.clashes
    for slot in told.slots:
        if slot.starts_at is not None and slot.cut_at is None and slot.ends_at is not None:
            came = real.ends.get((slot.schedule.name, slot.at), until)
            if slot.ends_at < until:
                assert slot.ends_at == pytest.approx(came, abs=30 * SECOND if queued else 0)


def test_a_slot_that_lasts_longer_than_its_interval_is_said_to_overrun() -> None:
    told = simulate([plan("slow", every(1), pages(90))], source(), now=NOON, until=NOON + HOUR)
    assert outcomes(told, "slow")[:4] == [(0, "fired"), (1, "skipped"), (2, "fired"),
                                          (3, "skipped")]  # fmt: skip
    assert all(slot.overruns == (slot.outcome == "fired") for slot in told.slots)
    first = told.slots[0]
    assert (first.ends_at, first.next_at) == (NOON + 89 * 1_001, NOON + MINUTE)


def test_the_last_slot_is_judged_by_what_comes_after_the_span() -> None:
    told = simulate([plan("slow", every(10), pages(700))], source(), now=NOON, until=NOON + 1)
    [slot] = told.slots
    assert slot.overruns
    assert told.starts == {("a", NOON): 1}, "what starts later is not of this span"


def test_a_slot_that_waits_fires_when_the_run_before_ends() -> None:
    queued = plan("q", every(10), pages(900), overlap=Overlap.QUEUE_ONE)
    told = simulate([queued], source(), now=NOON, until=NOON + HOUR)
    second = told.slots[1]
    assert (second.outcome, second.at) == ("fired", NOON + 10 * MINUTE)
    assert second.starts_at == pytest.approx(NOON + 899 * 1_001, abs=2)


def test_one_that_counts_from_its_end_never_overruns() -> None:
    rule = Every(10, jitter=False, after_end=True)
    told = simulate([plan("e", rule, pages(300))], source(), now=NOON, until=NOON + 45 * MINUTE)
    lasts = 299 * 1_001
    assert [slot.at for slot in told.slots] == [NOON + n * (lasts + 10 * MINUTE) for n in range(4)]
    assert not any(slot.overruns for slot in told.slots)


def test_two_that_ask_one_source_at_once_clash() -> None:
    both = [plan("a", every(60), pages(100)), plan("b", every(30), pages(10)),
            plan("c", Once(NOON + 10 * MINUTE), pages(5))]  # fmt: skip
    told = simulate(both, source(), now=NOON, until=NOON + 3 * HOUR)
    [clash] = told.clashes
    assert (clash.source, clash.names, clash.first_at, clash.times) == ("a", ("a", "b"), NOON, 4)


def test_what_waits_already_goes_along() -> None:
    one = plan("n", Once(NOON), pages(10))
    busy = simulate([one], source(ahead=1_000, unknown_robots=2), now=NOON, until=NOON + HOUR)
    assert busy.slots[0].ends_at == NOON + 21 * 1_001, "in turns with it, after robots.txt"
    assert busy.starts == {("a", NOON): 10}, "and is not counted as theirs"


def test_a_run_that_goes_on_now_is_in_the_way() -> None:
    one = replace(plan("n", every(10), pages(1)), busy_until=NOON + 15 * MINUTE)
    told = simulate([one], source(), now=NOON, until=NOON + 20 * MINUTE)
    assert outcomes(told, "n") == [(0, "skipped"), (10, "skipped"), (20, "fired")]


def test_of_those_that_share_a_site_one_runs_at_a_time() -> None:
    pair = [replace(plan(name, every(10), pages(700)), shares="site") for name in "xy"]
    told = simulate(pair, source(), now=NOON, until=NOON)
    assert [slot.outcome for slot in told.slots] == ["fired", "skipped"]


def test_at_a_paused_source_nothing_ends() -> None:
    told = simulate([plan("n", every(30), pages(1))], source(is_paused=True), now=NOON,
                    until=NOON + HOUR)  # fmt: skip
    assert outcomes(told, "n") == [(0, "fired"), (30, "skipped"), (60, "skipped")]
    assert told.slots[0].overruns
    assert told.starts == {}


def test_what_is_in_the_store_is_not_asked_for() -> None:
    kept = replace(plan("n", every(60), pages(5)), max_age=150 * MINUTE)
    told = simulate([kept], source(), now=NOON, until=NOON + 5 * HOUR)
    assert [slot.pages for slot in told.slots] == [5, 0, 0, 5, 0, 0]
    lately = replace(kept, fetched_at=NOON - HOUR)
    assert simulate([lately], source(), now=NOON, until=NOON).slots[0].pages == 0


def test_what_would_be_refused_asks_for_nothing() -> None:
    bad = replace(plan("n", every(60), pages(5)), refused="There is no such spider.")
    told = simulate([bad], source(), now=NOON, until=NOON)
    assert [(slot.outcome, slot.pages) for slot in told.slots] == [("refused", 0)]


def test_a_crawl_is_told_at_its_least_and_at_its_most() -> None:
    crawl = plan("c", every(60), pages(1, most=5_000))
    found = preview([crawl], source(), now=NOON, until=NOON + 2 * HOUR)
    assert [slot.outcome for slot in found.least.slots] == ["fired"] * 3
    assert [slot.outcome for slot in found.most.slots] == ["fired", "skipped", "fired"]
    assert not any(slot.overruns for slot in found.least.slots)
    assert found.most.slots[0].overruns
    sure = preview([plan("c", every(60), pages(1))], source(), now=NOON, until=NOON)
    assert sure.most is sure.least


def test_there_is_an_end_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulation, "MOST_SLOTS", 10)
    told = simulate([plan("n", every(1), pages(1))], source(), now=NOON, until=NOON + DAY)
    assert (told.capped, told.until, len(told.slots)) == (True, NOON + 10 * MINUTE, 10)
    monkeypatch.setattr(simulation, "MOST_EFFORT", 30)
    assert simulate([plan("n", every(1), pages(1))], source(), now=NOON, until=NOON + DAY).capped


def test_slots_come_in_their_order() -> None:
    several = [plan(f"s{n}", Every(11 + n), pages(1)) for n in range(5)]
    told = simulate(several, source(), now=NOON, until=NOON + 6 * HOUR)
    moments = [slot.at for slot in told.slots]
    assert moments == sorted(moments)
    assert len(moments) > 100
    assert isinstance(told.slots[0], Slot)
