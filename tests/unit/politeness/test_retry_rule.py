"""What follows from a failure."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from curtsy.model.failure_kinds import RULES, Kind
from curtsy.model.outcome import Failed
from curtsy.politeness.host_health import HEALTHY
from curtsy.politeness.policy import Policy
from curtsy.politeness.retry_rule import GiveUp, Rest, Retry, backoff, consequence

POLICY = Policy()
RNG = random.Random(7)


@pytest.mark.parametrize("kind", Kind)
def test_every_kind_has_a_consequence_that_fits_its_rule(kind: Kind) -> None:
    follows = consequence(Failed(kind, ""), 0, POLICY, RNG)
    rule = RULES[kind]
    expected = GiveUp if not rule.retried else Rest if rule.hosts_fault else Retry
    assert isinstance(follows, expected)


@pytest.mark.parametrize("kind", [kind for kind in Kind if RULES[kind].retried])
def test_what_is_final_is_given_up_at_once(kind: Kind) -> None:
    assert consequence(Failed(kind, "", final=True), 0, POLICY, RNG) == GiveUp()


def test_a_page_is_tried_four_times_in_all() -> None:
    follows = [consequence(Failed(Kind.TIMEOUT, ""), n, POLICY, RNG) for n in range(4)]
    assert [type(f) for f in follows] == [Retry, Retry, Retry, GiveUp]


def test_pauses_are_about_one_two_and_four_minutes() -> None:
    for attempt, minutes in enumerate((1, 2, 4)):
        assert backoff(attempt, POLICY, RNG) == pytest.approx(minutes * 60_000, rel=0.1)


@given(st.integers(0, 10_000), st.integers())
def test_no_pause_is_longer_than_the_cap_and_a_tenth(attempt: int, seed: int) -> None:
    assert backoff(attempt, POLICY, random.Random(seed)) <= POLICY.retry_cap * 1.1


def test_an_announced_rest_is_kept_as_announced_up_to_a_day() -> None:
    def rest(span: int) -> object:
        failed = Failed(Kind.RATE_LIMITED, "", retry_after=span)
        return consequence(failed, 0, POLICY, RNG)

    assert rest(5_000) == Rest(5_000, announced=True)
    assert rest(10**12) == Rest(24 * 3_600_000, announced=True)


def test_who_is_refused_again_after_just_the_announced_rest_waits_longer() -> None:
    failed, health, rests = Failed(Kind.RATE_LIMITED, "", retry_after=0), HEALTHY, []
    for _ in range(4):
        follows = consequence(failed, 0, POLICY, RNG, health)
        assert isinstance(follows, Rest)
        rests.append(follows.wait)
        after = health.failed(follows.wait, POLICY, announced=True)
        assert after is not None
        health = after
    assert rests == [0, *(pytest.approx(n * 60_000, rel=0.1) for n in (1, 2, 4))]
    longer = Failed(Kind.RATE_LIMITED, "", retry_after=7_200_000)
    assert consequence(longer, 0, POLICY, RNG, health) == Rest(7_200_000, announced=True)
