"""The pacer on a clock of our own: no rule is ever broken, and no allowance is wasted."""

import random

from hypothesis import given
from hypothesis import strategies as st

from curtsy.politeness.pace import Pace
from curtsy.politeness.policy import Policy

steps = st.lists(
    st.tuples(st.sampled_from(["start", "sent", "end", "rest"]), st.integers(0, 400)), max_size=80
)


@given(steps, st.integers(0, 200), st.integers(0, 100), st.integers(1, 4), st.integers())
def test_starts_keep_the_delay_and_the_number_whatever_happens(
    moves: list[tuple[str, int]], low: int, more: int, concurrency: int, seed: int
) -> None:
    policy = Policy(min_delay=low, max_delay=low + more, concurrency=concurrency)
    pace, rng = Pace(policy, next_at=0), random.Random(seed)
    now, rests_until = 0, 0
    left: list[int] = []
    unsent, flying = 0, 0
    for what, after in moves:
        now += after
        if what == "start" and pace.wait(now) == 0:
            assert now >= rests_until
            assert not left or now - left[-1] >= low
            assert unsent == 0 or low == 0
            pace.started(now, rng)
            unsent, flying = unsent + 1, flying + 1
            assert flying <= concurrency
        elif what == "sent" and unsent:
            pace.sent(now, rng)
            left.append(now)
            unsent -= 1
        elif what == "end" and flying - unsent:
            pace.ended(was_sent=True)
            flying -= 1
        elif what == "rest":
            pace.rest(now + after)
            rests_until = max(rests_until, now + after)


@given(st.integers(1, 500), st.integers(2, 30))
def test_with_work_and_allowance_it_is_never_idle(delay: int, pages: int) -> None:
    pace, rng = Pace(Policy(min_delay=delay), next_at=0), random.Random(1)
    now = 0
    for _ in range(pages):
        wait = pace.wait(now)
        assert wait is not None
        now += wait
        pace.started(now, rng)
        pace.sent(now, rng)
        pace.ended(was_sent=True)
    assert now == (pages - 1) * (delay + 1), "the optimum, to a millisecond a page"


def test_after_trouble_one_request_goes_alone() -> None:
    pace, rng = Pace(Policy(min_delay=0, concurrency=4), next_at=0), random.Random(1)
    pace.resting = True
    pace.started(0, rng)
    pace.sent(0, rng)
    assert pace.wait(0) is None
    pace.resting = False
    assert pace.wait(0) == 0
