"""What is foretold against what the pacer then does, step by step on a clock of our own."""

import random
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from curtsy.clock import DAY, HOUR, MINUTE
from curtsy.politeness.forecast import STEPS, nth_start, start_of
from curtsy.politeness.hours import FARTHEST, Hours
from curtsy.politeness.pace import Pace
from curtsy.politeness.policy import Policy

NOON = 1_774_699_200_000

policies = st.builds(
    lambda low, more, limit, burst, when: Policy(
        min_delay=low, max_delay=low + more, requests_per_hour=limit,
        burst_limit=min(burst, limit or 1), hours=when,
    ),
    st.sampled_from([50, 1_000, 20_000]),
    st.sampled_from([0, 500]),
    st.sampled_from([0, 30, 60, 1_000]),
    st.sampled_from([1, 5, 20]),
    st.sampled_from([
        None, Hours(9 * 60, 17 * 60, "America/New_York", slowdown=3.0),
        Hours(22 * 60, 6 * 60, "Europe/London", closed=True),
    ]),
)  # fmt: skip


def go_on(pace: Pace, starts: int, now: int, rng: random.Random) -> int:
    """When the last of so many starts was."""
    for _ in range(starts):
        wait = pace.wait(now)
        assert wait is not None
        now += wait
        pace.started()
        pace.sent(now, rng)
        pace.ended(now, rng, was_sent=True)
    return now


@settings(deadline=None, max_examples=150)
@given(policies, st.integers(0, 80), st.integers(0, 6 * HOUR), st.integers(1, STEPS))
def test_the_near_future_comes_to_the_millisecond(
    policy: Policy, before: int, idle: int, n: int
) -> None:
    policy = replace(policy, max_delay=0)
    pace = Pace(policy, rest_until=NOON)
    now = go_on(pace, before, NOON, random.Random(1)) + idle
    foretold = start_of(pace, n, now)
    assert start_of(pace, n, now) == foretold, "looking changes nothing"
    assert go_on(pace, n, now, random.Random(1)) == foretold


def test_what_comes_after_a_full_hour_is_not_foretold_for_closed_hours() -> None:
    night = Hours(22 * 60, 6 * 60, "UTC", closed=True)
    policy = Policy(min_delay=1, requests_per_hour=60, burst_limit=60, hours=night)
    now = NOON - NOON % DAY + 21 * HOUR + 30 * MINUTE
    for foretell in (start_of, nth_start):
        at = foretell(Pace(policy, rest_until=now), 61, now)
        assert at == now - now % DAY + 30 * HOUR


@settings(deadline=None, max_examples=150)
@given(policies, st.integers(0, 80), st.integers(0, 6 * HOUR), st.integers(1, 400), st.integers())
def test_it_comes_within_five_percent(
    policy: Policy, before: int, idle: int, n: int, seed: int
) -> None:
    rng = random.Random(seed)
    pace = Pace(policy, rest_until=NOON)
    now = go_on(pace, before, NOON, rng) + idle
    foretold = nth_start(pace, n, now)
    came = go_on(pace, n, now, rng)
    slack = 0.05 * (came - now) + 3 * pace.delay() + 2 * MINUTE
    if policy.hours is not None and policy.requests_per_hour:
        slack += policy.burst_limit * policy.spread  # where hours begin or end within a burst
    assert abs(foretold - came) <= slack


def test_open_requests_count_where_few_may_be_open() -> None:
    pace = Pace(Policy(min_delay=10, concurrency=2), rest_until=0)
    assert nth_start(pace, 101, 0, answer_ms=1_000) == 50_000
    assert nth_start(pace, 101, 0) == 1_100


def test_the_far_future_is_not_computed() -> None:
    pace = Pace(Policy(min_delay=HOUR, hours=Hours(0, 60, closed=True)), rest_until=0)
    assert nth_start(pace, 10**9, 0) > 9 * 365 * 24 * HOUR


def test_what_lies_beyond_all_reckoning_is_not_reckoned() -> None:
    slow = Hours(0, 23 * 60, "Europe/London", slowdown=1_000.0)
    pace = Pace(Policy(requests_per_hour=1, hours=slow), rest_until=NOON)
    assert start_of(pace, 100_000, NOON) <= NOON + 2 * FARTHEST
