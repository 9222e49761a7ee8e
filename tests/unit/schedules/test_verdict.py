"""What becomes of a schedule that is looked at, at any moment and after any absence."""

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from curtsy.clock import DAY, HOUR, MINUTE
from curtsy.schedules.verdict import (
    GRACE,
    RECHECK_EVERY,
    CatchUp,
    Overlap,
    ScheduleState,
    Verdict,
    first_slot,
    judge,
)
from curtsy.timetable import Cron, Every, Once, slot_after

NOON = 1_800_014_400_000
HOURLY = Cron("0 * * * *")


def schedule_state(**changes: object) -> ScheduleState:
    plain = ScheduleState(
        rule=HOURLY, seed="s", overlap=Overlap.SKIP, catch_up=CatchUp.LATEST, window=DAY,
        next_fire_at=NOON, waiting=None, is_busy=False, ended_at=NOON - HOUR,
    )  # fmt: skip
    return replace(plain, **changes)  # type: ignore[arg-type]


def test_before_its_slot_nothing_happens() -> None:
    assert judge(schedule_state(), NOON - 1) == Verdict(NOON, NOON)


def test_at_its_slot_it_fires_once_and_the_next_is_known() -> None:
    assert judge(schedule_state(), NOON) == Verdict(NOON + HOUR, NOON + HOUR, fire=NOON)


def test_of_missed_slots_the_latest_fires_and_the_others_are_told() -> None:
    verdict = judge(schedule_state(), NOON + 3 * HOUR + 5 * MINUTE)
    assert verdict.fire == NOON + 3 * HOUR
    assert verdict.missed == (NOON, NOON + HOUR, NOON + 2 * HOUR)
    assert verdict.next_fire_at == NOON + 4 * HOUR


def test_without_catching_up_a_late_slot_is_missed_and_one_in_time_is_not() -> None:
    none = schedule_state(catch_up=CatchUp.NONE)
    assert judge(none, NOON + GRACE).fire == NOON
    late = judge(none, NOON + GRACE + 1)
    assert (late.fire, late.missed, late.next_fire_at) == (None, (NOON,), NOON + HOUR)


def test_all_missed_slots_fire_one_after_the_other() -> None:
    s, now, fired = schedule_state(catch_up=CatchUp.ALL), NOON + 3 * HOUR + 1, []
    while (verdict := judge(s, now)).fire is not None:
        fired.append(verdict.fire)
        busy = judge(replace(s, next_fire_at=verdict.next_fire_at, is_busy=True), now)
        if busy.next_fire_at != NOON + 4 * HOUR:
            assert (busy.fire, busy.skipped) in ((None, None), (None, NOON + 3 * HOUR))
        s = replace(s, next_fire_at=verdict.next_fire_at)
    assert fired == [NOON + n * HOUR for n in range(4)]


@pytest.mark.parametrize("overlap", sorted(set(Overlap) - {Overlap.ALLOW}))
def test_slots_that_are_caught_up_on_wait_for_each_other(overlap: Overlap) -> None:
    """Slots every ten minutes, missed for fifty; each run takes three minutes."""
    ten = 10 * MINUTE
    s = schedule_state(rule=Every(10, jitter=False), overlap=overlap, catch_up=CatchUp.ALL)
    now, busy_until, fired = NOON + 4 * ten + 2 * MINUTE, 0, []
    for _ in range(100):
        verdict = judge(replace(s, is_busy=now < busy_until), now)
        assert (verdict.skipped, verdict.replaces, verdict.missed) == (None, False, ())
        if verdict.fire is not None:
            fired.append((verdict.fire, now))
            busy_until = now + 3 * MINUTE
        s = replace(s, next_fire_at=verdict.next_fire_at, waiting=verdict.waiting)
        now += RECHECK_EVERY * 5
        if now >= NOON + 4 * ten + 8 * MINUTE:
            break
    assert [slot for slot, _at in fired] == [NOON + n * ten for n in range(len(fired))]
    assert len(fired) >= 2
    assert all(after - before >= 3 * MINUTE
               for (_, before), (_, after) in pairwise(fired))  # fmt: skip


def test_what_is_older_than_the_window_is_never_caught_up_on() -> None:
    for catch_up in CatchUp:
        verdict = judge(schedule_state(catch_up=catch_up, window=2 * HOUR), NOON + 5 * HOUR + 2)
        assert verdict.long_missed == NOON
        assert verdict.fire in (None, NOON + 4 * HOUR, NOON + 5 * HOUR)
    gone = judge(schedule_state(rule=Once(NOON), window=HOUR), NOON + 2 * HOUR)
    assert gone == Verdict(None, None, long_missed=NOON)


def test_while_a_run_goes_on_a_slot_does_as_the_schedule_says() -> None:
    busy = schedule_state(is_busy=True)
    assert judge(busy, NOON) == Verdict(NOON + HOUR, NOON + HOUR, skipped=NOON)
    queued = judge(replace(busy, overlap=Overlap.QUEUE_ONE), NOON)
    assert (queued.fire, queued.waiting, queued.look_at) == (None, NOON, NOON + RECHECK_EVERY)
    for overlap in (Overlap.ALLOW, Overlap.CANCEL_RUNNING):
        fires = judge(replace(busy, overlap=overlap), NOON)
        assert (fires.fire, fires.replaces) == (NOON, overlap is Overlap.CANCEL_RUNNING)


def test_only_one_slot_waits_for_the_run_before_it() -> None:
    waiting = schedule_state(overlap=Overlap.QUEUE_ONE, waiting=NOON - HOUR, is_busy=True)
    second = judge(waiting, NOON)
    assert (second.fire, second.waiting, second.skipped) == (None, NOON - HOUR, NOON)
    ended = judge(replace(waiting, is_busy=False, next_fire_at=NOON + HOUR), NOON)
    assert (ended.fire, ended.waiting) == (NOON - HOUR, None)
    both = judge(replace(waiting, is_busy=False), NOON)
    assert (both.fire, both.waiting) == (NOON - HOUR, NOON)


def test_an_interval_after_the_last_end_waits_for_that_end() -> None:
    rule = Every(10, jitter=False, after_end=True)
    s = schedule_state(rule=rule, next_fire_at=None, ended_at=NOON)
    assert judge(replace(s, is_busy=True), NOON) == Verdict(None, NOON + RECHECK_EVERY)
    at = NOON + 10 * MINUTE
    assert judge(s, NOON) == Verdict(at, at)
    assert judge(replace(s, next_fire_at=at), at + 5).fire == at


@pytest.mark.parametrize(
    ("catch_up", "late", "fires"),
    [
        (CatchUp.NONE, GRACE, True),
        (CatchUp.NONE, GRACE + 1, False),
        (CatchUp.LATEST, DAY, True),
        (CatchUp.LATEST, DAY + 1, False),
        (CatchUp.ALL, DAY + 1, False),
    ],
)
def test_an_interval_after_the_last_end_is_caught_up_on_as_any_slot_is(
    catch_up: CatchUp, late: int, fires: bool
) -> None:
    """One that stays missed is followed by another after its interval."""
    rule = Every(10, jitter=False, after_end=True)
    now = NOON + late
    for s in (schedule_state(rule=rule, next_fire_at=NOON, catch_up=catch_up),
              schedule_state(rule=rule, next_fire_at=None, ended_at=NOON - 10 * MINUTE,
                       catch_up=catch_up)):  # fmt: skip
        onward = now + 10 * MINUTE
        missed = Verdict(onward, onward, missed=(NOON,))
        assert judge(s, now) == (Verdict(None, now + RECHECK_EVERY, NOON) if fires else missed)


@pytest.mark.parametrize("rule", [HOURLY, Every(60), Every(7, jitter=False)])
def test_the_first_slot_is_not_before_the_moment_that_was_named(rule: Cron | Every) -> None:
    assert first_slot(rule, "s", now=NOON, not_before=None) == slot_after(rule, NOON, seed="s")
    named = first_slot(rule, "s", now=NOON, not_before=NOON + 3 * HOUR)
    assert named is not None
    assert named >= NOON + 3 * HOUR


def test_a_slot_at_the_very_moment_that_was_named_counts() -> None:
    assert first_slot(HOURLY, "s", now=NOON - 7, not_before=NOON) == NOON
    assert first_slot(Once(NOON), "s", now=NOON - 7, not_before=NOON) == NOON


RULES = st.sampled_from([HOURLY, Cron("*/5 * * * *"), Cron("0 9 * * *", "Europe/Berlin"),
                         Every(1), Every(13), Every(90, jitter=False),
                         Once(NOON + 77_000)])  # fmt: skip


@given(
    RULES, st.sampled_from(Overlap), st.sampled_from(CatchUp),
    st.lists(st.tuples(st.integers(0, 3 * HOUR), st.booleans()), max_size=40),
)  # fmt: skip
def test_whoever_looks_whenever_no_slot_is_told_twice_or_forgotten(
    rule: Cron | Every | Once, overlap: Overlap, catch_up: CatchUp,
    looks: list[tuple[int, bool]],
) -> None:  # fmt: skip
    """Each slot ends as fired, skipped or missed, once, unless it still waits; none is early."""
    now = NOON
    s = schedule_state(rule=rule, overlap=overlap, catch_up=catch_up, window=7 * DAY,
                 next_fire_at=slot_after(rule, NOON, seed="s"))  # fmt: skip
    ended: list[int] = []
    for wait, busy in looks:
        now += wait
        verdict = judge(replace(s, is_busy=busy), now)
        ended += [*verdict.missed, *(x for x in (verdict.fire, verdict.skipped) if x is not None)]
        assert verdict.fire is None or verdict.fire <= now
        s = replace(s, next_fire_at=verdict.next_fire_at, waiting=verdict.waiting)
    if s.waiting is not None:
        ended.append(s.waiting)
    every, at = [], slot_after(rule, NOON, seed="s")
    while at is not None and at <= now and (s.next_fire_at is None or at < s.next_fire_at):
        every.append(at)
        at = slot_after(rule, at, seed="s")
    assert sorted(ended) == every
