"""An alert fires once its value was bad for long enough, and is resolved once it is good again."""

from hypothesis import given
from hypothesis import strategies as st

from curtsy.alerts.state_machine import (
    GONE,
    LONGEST_STEP,
    AlertState,
    Bounds,
    Phase,
    Reading,
    advance,
    elapsed,
)
from curtsy.clock import DAY, MINUTE, SECOND

MEMORY = Bounds(is_above=True, threshold=500, clear=450, hold=2 * MINUTE)
SUCCESS = Bounds(is_above=False, threshold=80, clear=85, hold=0)
EVERY = 15 * SECOND
READINGS = st.one_of(st.none(), st.just(GONE), st.floats(0, 1_000))


def walk(bounds: Bounds, *readings: Reading, step: int = EVERY) -> list[str]:
    state, phases = AlertState(), []
    for reading in readings:
        state = advance(state, reading, bounds, step)
        phases.append(str(state.phase))
    return phases


def test_it_fires_only_after_the_whole_time_and_is_resolved_at_the_clear_threshold() -> None:
    phases = walk(MEMORY, *[501.0] * 9, 460.0, 450.0, 460.0)
    assert phases == ["pending"] * 8 + ["firing", "firing", "resolved", "resolved"]


def test_without_a_time_it_fires_at_once() -> None:
    assert walk(SUCCESS, 80.0, 79.9, 84.9, 85.0) == ["inactive", "firing", "firing", "resolved"]


def test_a_value_that_gets_good_in_between_starts_anew() -> None:
    assert walk(MEMORY, *[501.0] * 8, 500.0, *[501.0] * 8)[-1] == "pending"


def test_unknown_values_change_nothing() -> None:
    assert walk(SUCCESS, None, 10.0, None, None, 90.0, None) == [
        "inactive", "firing", "firing", "firing", "resolved", "resolved"]  # fmt: skip


def test_time_without_a_known_value_does_not_count() -> None:
    assert walk(MEMORY, 501.0, *[None] * 100, *[501.0] * 7)[-1] == "pending"


def test_what_is_gone_is_resolved_and_never_fires() -> None:
    assert walk(SUCCESS, 10.0, GONE, GONE) == ["firing", "resolved", "resolved"]
    assert walk(MEMORY, 501.0, GONE, *[GONE] * 20)[-1] == "inactive"


def test_a_clock_that_jumped_adds_no_time() -> None:
    now = 1_000 * DAY
    assert elapsed(now, now + EVERY, has_jumped=False) == EVERY
    assert elapsed(now, now + EVERY, has_jumped=True) == 0
    assert elapsed(now, now - DAY, has_jumped=False) == 0
    assert elapsed(now, now + DAY, has_jumped=False) == LONGEST_STEP


@given(st.lists(READINGS), st.booleans(), st.floats(0, 1_000), st.floats(0, 200),
       st.integers(0, 10 * MINUTE))  # fmt: skip
def test_it_fires_and_is_resolved_in_turn_and_each_for_a_reason(
    readings: list[Reading], above: bool, threshold: float, gap: float, hold: int
) -> None:
    clear = threshold - gap if above else threshold + gap
    bounds = Bounds(is_above=above, threshold=threshold, clear=clear, hold=hold)
    state, bad_for = AlertState(), 0
    for reading in readings:
        before, state = state, advance(state, reading, bounds, EVERY)
        is_number = isinstance(reading, float)
        if is_number and bounds.is_bad(reading):
            bad_for += EVERY
        elif reading is not None:
            bad_for = 0
        if state.phase == Phase.FIRING and before.phase != Phase.FIRING:
            assert is_number
            assert bounds.is_bad(reading)
            assert bad_for - EVERY >= hold
        if state.phase == Phase.RESOLVED and before.phase != Phase.RESOLVED:
            assert before.phase == Phase.FIRING
            assert reading is GONE or (is_number and bounds.is_good(reading))
        if reading is None:
            assert state == before
        assert state.held <= hold
