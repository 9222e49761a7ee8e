"""What follows from a failure."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from curtsy.model.failure_kinds import RULES, Kind
from curtsy.model.outcome import Failed
from curtsy.politeness.host_health import ANNOUNCED_AT_MOST, HEALTHY, HostHealth
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


def _rest(span: int | None, health: HostHealth = HEALTHY, policy: Policy = POLICY) -> Rest:
    follows = consequence(Failed(Kind.RATE_LIMITED, "", retry_after=span), 0, policy, RNG, health)
    assert isinstance(follows, Rest)
    return follows


def _rests(span: int | None, policy: Policy = POLICY) -> list[int]:
    """The rests of a host that refuses every request, until it is given up."""
    health: HostHealth | None = HEALTHY
    rests = []
    while health is not None:
        rest = _rest(span, health, policy)
        rests.append(rest.wait)
        health = health.failed(rest.wait, policy, announced=rest.announced)
    return rests


def test_an_announced_rest_is_kept_as_announced_up_to_a_day() -> None:
    assert _rest(70_000) == Rest(70_000, announced=True)
    assert _rest(10**12) == Rest(24 * 3_600_000, announced=True)


@pytest.mark.parametrize("span", [None, 0, 1, 59_999])
def test_an_announced_rest_never_shortens_our_own(span: int | None) -> None:
    rest = _rest(span)
    assert rest.wait == pytest.approx(60_000, rel=0.1)
    assert not rest.announced, "so it counts towards giving up, as without a Retry-After"
    assert _rests(span) == [pytest.approx(n * 60_000, rel=0.1) for n in (1, 2, 4, 8)]


def test_no_time_is_nothing_to_honour_even_without_pauses_of_our_own() -> None:
    assert len(_rests(0, Policy(retry_base=0))) == POLICY.give_up_probes


def test_who_is_refused_again_after_just_the_announced_rest_waits_longer() -> None:
    rests = _rests(60_000)
    assert len(rests) == ANNOUNCED_AT_MOST
    assert rests[:4] == [pytest.approx(n * 60_000, rel=0.1) for n in (1, 2, 4, 8)]
    assert rests[0] >= 60_000, "as announced at least"
    assert max(rests) <= POLICY.retry_cap * 1.1
    assert _rest(7_200_000, HostHealth(1, 5)) == Rest(7_200_000, announced=True)


@pytest.mark.parametrize("span", [0, 5_000, 600_000])
def test_a_retry_of_a_page_waits_for_the_longer_of_the_two(span: int) -> None:
    failed = Failed(Kind.SERVER_ERROR, "", status=500, retry_after=span)
    follows = consequence(failed, 0, POLICY, RNG)
    assert isinstance(follows, Retry)
    assert follows.wait == pytest.approx(max(60_000, span), rel=0.1)
