"""Regular slots, each moved by a tenth at most."""

import subprocess
import sys
from itertools import islice, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curtsy.clock import DAY, HOUR, MINUTE
from curtsy.timetable import BadRule, Every, slot_after, slot_after_end, slots
from curtsy.timetable.intervals import every_slots
from curtsy.timetable.rules import LATEST

NOON = 1_782_302_400_000  # 24 June 2026, 12:00 UTC
RULES = st.builds(Every, st.integers(1, 366 * 24 * 60), st.booleans())
INSTANTS = st.integers(0, 4_000_000_000_000)
SEEDS = st.text(st.characters(codec="utf-8"), max_size=20)


@settings(deadline=None)
@given(RULES, INSTANTS, SEEDS)
def test_each_slot_lies_within_a_tenth_of_its_place(rule: Every, after: int, seed: str) -> None:
    span = rule.minutes * MINUTE
    found = list(islice(every_slots(rule, after, seed=seed), 20))
    numbers = [(slot + span // 2) // span for slot in found]
    assert numbers == list(range(numbers[0], numbers[0] + 20))
    for number, slot in zip(numbers, found, strict=True):
        assert abs(slot - number * span) <= (span // 10 if rule.jitter else 0)
    assert all(earlier < later for earlier, later in pairwise([after, *found]))


@settings(deadline=None)
@given(RULES, INSTANTS, SEEDS, st.lists(st.floats(0, 1, exclude_max=True), max_size=4))
def test_from_any_moment_between_two_slots_the_next_is_the_same(
    rule: Every, after: int, seed: str, between: list[float]
) -> None:
    span = rule.minutes * MINUTE
    found = list(slots(rule, after=after, until=after + 12 * span, seed=seed))
    assert 11 <= len(found) <= 13
    for slot, following in pairwise(found):
        for part in [0.0, *between]:
            assert slot_after(rule, slot + int(part * (following - slot)), seed=seed) == following
        assert slot_after(rule, following - 1, seed=seed) == following


@settings(deadline=None)
@given(RULES, INSTANTS, SEEDS, st.lists(st.integers(0, 1000), min_size=1, max_size=6))
def test_windows_side_by_side_lose_and_double_nothing(
    rule: Every, after: int, seed: str, cuts: list[int]
) -> None:
    end = after + 10 * rule.minutes * MINUTE
    borders = sorted({after, end, *(after + (end - after) * cut // 1000 for cut in cuts)})
    parts = [
        slot
        for low, high in pairwise(borders)
        for slot in slots(rule, after=low, until=high, seed=seed)
    ]
    assert parts == list(slots(rule, after=after, until=end, seed=seed))


def test_a_window_ends_with_the_slot_at_its_end() -> None:
    for rule in (Every(60), Every(60, jitter=False)):
        slot = slot_after(rule, NOON, seed="a")
        assert slot is not None
        assert list(slots(rule, after=NOON, until=slot, seed="a")) == [slot]
        assert list(slots(rule, after=NOON, until=slot - 1, seed="a")) == []


def test_without_jitter_slots_are_multiples_of_the_interval() -> None:
    found = slots(Every(90, jitter=False), after=NOON - 1, until=NOON + 6 * HOUR, seed="")
    assert list(found) == [NOON + n * 90 * MINUTE for n in range(5)]


def test_the_same_seed_has_the_same_slots_for_ever() -> None:
    """Rows name slots: were one to move by an upgrade, it would be taken twice or never."""
    assert list(islice(every_slots(Every(60), NOON, seed="news"), 3)) == [
        1_782_306_218_517,
        1_782_309_608_320,
        1_782_313_334_765,
    ]
    assert slot_after(Every(1), NOON, seed="shop") == 1_782_302_455_769
    assert slot_after_end(Every(30, after_end=True), NOON, seed="news") == 1_782_304_339_222


def test_another_process_finds_the_same_slots() -> None:
    asked = (
        "from curtsy.timetable import Every, slot_after;"
        f"print(slot_after(Every(60), {NOON}, seed='news'))"
    )
    told = subprocess.run(
        [sys.executable, "-c", asked],
        capture_output=True, text=True, check=True,
        env={"PYTHONHASHSEED": "7", "PYTHONPATH": ":".join(sys.path)},
    )  # fmt: skip
    assert int(told.stdout) == slot_after(Every(60), NOON, seed="news")


def test_seeds_spread_over_the_whole_tenth() -> None:
    moves = [
        next(every_slots(Every(60), NOON + HOUR // 2, seed=f"{n}")) - NOON - HOUR
        for n in range(1000)
    ]
    tenths = [
        sum(low <= move < low + 72_000 for move in moves)
        for low in range(-360_000, 360_000, 72_000)
    ]
    assert sum(tenths) >= 999
    assert all(60 <= count <= 150 for count in tenths)


def test_the_slots_of_one_seed_move_each_by_its_own() -> None:
    found = islice(every_slots(Every(60), NOON, seed="news"), 100)
    assert len({slot % HOUR for slot in found}) > 95


def test_a_slot_after_an_end_is_an_interval_later() -> None:
    plain = Every(30, jitter=False, after_end=True)
    assert slot_after_end(plain, NOON + 7, seed="a") == NOON + 7 + 30 * MINUTE
    moved = {slot_after_end(Every(30, after_end=True), NOON + n, seed="a") - n for n in range(200)}
    assert len(moved) > 190
    assert all(27 * MINUTE <= slot - NOON <= 33 * MINUTE for slot in moved)


def test_asking_a_rule_the_wrong_question_is_a_mistake_of_the_program() -> None:
    after_end = Every(30, after_end=True)
    for ask in (
        lambda: slot_after(after_end, NOON, seed=""),
        lambda: slots(after_end, after=NOON, until=NOON + DAY, seed=""),
        lambda: slot_after_end(Every(30), NOON, seed=""),
    ):
        with pytest.raises(ValueError, match="use slot_after") as caught:
            ask()
        assert not isinstance(caught.value, BadRule)


def test_an_interval_that_nobody_checked_is_refused_when_it_is_used() -> None:
    with pytest.raises(BadRule, match="from 1 to"):
        slot_after(Every(0), NOON, seed="")
    with pytest.raises(BadRule, match="from 1 to"):
        slot_after_end(Every(-1, after_end=True), NOON, seed="")


def test_there_is_an_end_of_time() -> None:
    assert slot_after(Every(60), LATEST, seed="") is None
