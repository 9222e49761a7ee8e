"""The pacer on a clock of our own: no rule is ever broken, and no allowance is wasted."""

import random
from bisect import bisect_left
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curtsy.clock import HOUR, MINUTE, SECOND
from curtsy.politeness.hours import Hours
from curtsy.politeness.pace import Pace, resumed
from curtsy.politeness.policy import Policy
from curtsy.politeness.strain import Strain

ZONES = ("UTC", "America/New_York", "Europe/London", "Australia/Lord_Howe", "Asia/Kathmandu")
SPRING = 1_774_695_600_000  # 28 March 2026, 11:00 UTC: Europe changes its clocks that night

TICK = 10
"""Milliseconds: the site forgives one, which in slow hours may be four."""

hours = st.builds(
    lambda start, span, zone, slowdown, closed: Hours(
        start, (start + span) % 1440, zone, 1.0 if closed else slowdown, closed
    ),
    st.integers(0, 1439),
    st.integers(1, 1439),
    st.sampled_from(ZONES),
    st.sampled_from([1.0, 1.5, 4.0]),
    st.booleans(),
)
policies = st.builds(
    lambda low, more, limit, burst, concurrency, when: Policy(
        min_delay=low, max_delay=low + more, requests_per_hour=limit,
        burst_limit=min(burst, limit or 1), concurrency=concurrency, hours=when,
    ),
    st.sampled_from([0, 1, 200, 5_000]),
    st.sampled_from([0, 0, 300]),
    st.sampled_from([0, 0, 1, 7, 60, 3_000]),
    st.integers(1, 20),
    st.integers(1, 4),
    st.none() | hours,
)  # fmt: skip
arrivals = st.lists(
    st.tuples(
        st.sampled_from(["page", "page", "page", "rest", "idle", "handover", "policy"]),
        st.integers(0, 40 * MINUTE),
    ),
    min_size=1,
    max_size=60,
)


class Site:
    """What the site sees; it holds us to the policy of the moment."""

    def __init__(self) -> None:
        self.left: list[int] = []
        self.rests_until = 0
        self.since = 0
        """The policy is that since this request: its bucket is filled by what came after."""

    def request(self, at: int, policy: Policy) -> None:
        before = self.left
        assert at >= self.rests_until
        when = policy.hours
        if when is not None and when.closed:
            assert not when.within(at), "asked in closed hours"
        if before and policy.min_delay:
            assert self._passed(policy, before[-1], at) >= policy.min_delay, "too close"
        if policy.requests_per_hour:
            in_hour = len(before) - bisect_left(before, at - HOUR)
            assert in_hour < policy.requests_per_hour, "too many in an hour"
            level = 0.0  # the bucket, filled again from the beginning
            for sooner, later in pairwise([*before[self.since :], at]):
                level = max(0.0, level + policy.spread - self._passed(policy, sooner, later))
            assert level <= (policy.burst_limit - 1) * policy.spread + 1, "not spread"
        self.left.append(at)

    def _passed(self, policy: Policy, since: int, until: int) -> float:
        return until - since if policy.hours is None else policy.hours.passed(since, until)


def carried_over(pace: Pace) -> Pace:
    """As another worker gets it from the store."""
    kept, last = pace.stored(), pace.last
    return resumed(pace.policy, kept, last=last, next_at=pace.next_at, offset=pace.offset)


@settings(deadline=None)
@given(policies, policies, arrivals, st.integers(0, 2**32))
def test_no_rule_is_ever_broken(
    policy: Policy, other: Policy, moves: list[tuple[str, int]], seed: int
) -> None:
    site, rng, now = Site(), random.Random(seed), SPRING
    pace = Pace(policy, rest_until=now)
    for what, span in moves:
        match what:
            case "page":
                wait = pace.wait(now)
                assert wait is not None
                now += wait
                assert pace.wait(now) == 0
                pace.started()
                if span % 3 == 0 and (pace.policy.min_delay or pace.policy.requests_per_hour):
                    now += span % 7_000  # it takes its time to connect, and nothing else starts
                    assert pace.wait(now) is None
                if pace.policy.hours is None or not pace.policy.hours.closed or span % 3:
                    site.request(now, pace.policy)
                else:
                    site.left.append(now)  # it may leave a moment after the hours began
                pace.sent(now, rng)
                pace.ended(now, rng, was_sent=True)
            case "rest":
                pace.rest(now + span)
                site.rests_until = max(site.rests_until, now + span)
            case "idle":
                now += span * 3
            case "handover":
                pace = carried_over(pace)
            case "policy":
                policy, other = other, policy
                pace.adopt(policy)
                site.since = len(site.left)


class Traffic:
    """Several requests at once: each takes its time to leave, and to be answered."""

    def __init__(self, policy: Policy, rng: random.Random) -> None:
        self.pace, self.rng, self.now = Pace(policy, rest_until=SPRING), rng, SPRING
        self.site, self.most_open = Site(), 0
        self._coming: list[tuple[int, int, str]] = []
        """When, which, and whether it leaves or ends then."""

    def start(self, n: int) -> None:
        """As soon as it may."""
        while (wait := self.pace.wait(self.now)) != 0:
            if wait is None or (self._coming and self._coming[0][0] <= self.now + wait):
                self._let_one_come()
            else:
                self.now += wait
        self.pace.started()
        leaves = self.now + self.rng.choice((0, 0, 30, 900))
        self._coming += [(leaves, n, "leaves"), (leaves + self.rng.randint(0, 9_000), n, "ends")]
        self._coming.sort()
        self.most_open = max(self.most_open, self.pace.in_flight)

    def _let_one_come(self) -> None:
        at, _which, what = self._coming.pop(0)
        self.now = max(self.now, at)
        if what == "leaves":
            self.site.request(self.now, self.pace.policy)
            self.pace.sent(self.now, self.rng)
        else:
            self.pace.ended(self.now, self.rng, was_sent=True)


@given(policies, st.integers(2, 40), st.integers(0, 2**32))
def test_no_rule_is_broken_where_several_are_open(policy: Policy, pages: int, seed: int) -> None:
    if policy.hours is not None and policy.hours.closed:
        policy = replace(policy, hours=None)  # one that connects may leave a moment after it closed
    traffic = Traffic(policy, random.Random(seed))
    for n in range(pages):
        traffic.start(n)
    assert traffic.most_open <= policy.concurrency
    spaced = policy.max_delay or policy.requests_per_hour
    if not spaced:
        assert traffic.most_open == min(pages, policy.concurrency), "and none stays unused"


@given(st.integers(0, 900), st.integers(1, 2_000), st.integers(1, 4), st.integers(0, 2**32))
def test_delays_are_drawn_between_the_shortest_and_the_longest(
    low: int, more: int, concurrency: int, seed: int
) -> None:
    policy = Policy(min_delay=low, max_delay=low + more, concurrency=concurrency)
    pace, rng, now = Pace(policy, rest_until=0), random.Random(seed), 0
    drawn = []
    for n in range(100):
        wait = pace.wait(now)
        assert wait is not None
        now += wait
        assert low <= wait <= low + more + 1 or not n
        drawn.append(wait)
        pace.started()
        assert pace.wait(now) is None, "the next counts from when this one leaves"
        pace.sent(now, rng)
        pace.ended(now, rng, was_sent=True)
        if n % 10 == 0:
            pace = carried_over(pace)
    middle = sum(drawn[1:]) / len(drawn[1:])
    assert abs(middle - low - more / 2) < 0.2 * more + 2


@settings(deadline=None)
@given(policies, st.integers(2, 150), st.integers(0, 2 * 24 * HOUR))
def test_with_work_and_allowance_it_is_never_idle(policy: Policy, pages: int, begins: int) -> None:
    """Each start comes at the first moment at which no rule forbids it, to a tick."""
    policy = Policy(min_delay=policy.min_delay, requests_per_hour=policy.requests_per_hour,
                    burst_limit=policy.burst_limit, hours=policy.hours)  # fmt: skip
    now = SPRING + begins
    pace, rng, site = Pace(policy, rest_until=now), random.Random(1), Site()
    for page in range(pages):
        wait = pace.wait(now)
        assert wait is not None
        now += wait
        if page and wait > TICK:
            assert _is_forbidden(site, now - TICK, policy), "could have started sooner"
        site.request(now, policy)
        pace.started()
        pace.sent(now, rng)
        pace.ended(now, rng, was_sent=True)


def _is_forbidden(site: Site, at: int, policy: Policy) -> bool:
    try:
        site.request(at, policy)
    except AssertionError:
        return True
    return False


def test_a_month_of_two_policies_takes_seconds_and_keeps_them() -> None:
    """Over the night in which the clocks change."""
    policies = (
        Policy(min_delay=1_500, requests_per_hour=60, burst_limit=10,
               hours=Hours(9 * 60, 17 * 60, "America/New_York", slowdown=2.0)),
        Policy(min_delay=1_000, max_delay=3_000, requests_per_hour=120, burst_limit=15,
               hours=Hours(9 * 60, 17 * 60, "Europe/London", closed=True)),
    )  # fmt: skip
    for policy in policies:
        assert policy.hours is not None
        start = now = SPRING - 15 * 24 * HOUR
        pace, rng = Pace(policy, rest_until=now), random.Random(3)
        left: list[int] = []
        while now < start + 30 * 24 * HOUR:
            wait = pace.wait(now)
            assert wait is not None
            now += wait
            left.append(now)
            pace.started()
            pace.sent(now, rng)
            pace.ended(now, rng, was_sent=True)
        limit = policy.requests_per_hour
        assert all(b - a > HOUR for a, b in zip(left, left[limit:], strict=False))
        assert all(b - a >= policy.min_delay for a, b in pairwise(left))
        inside = [at for at in left if policy.hours.within(at)]
        if policy.hours.closed:
            assert not inside
            assert len(left) > 0.95 * 30 * 16 * limit
        else:
            assert len(inside) < 1.05 * 30 * 8 * limit / 2
            assert len(left) > 0.95 * 30 * (16 * limit + 8 * limit / 2)


def test_what_a_dead_owner_may_have_asked_counts_as_asked() -> None:
    policy = Policy(min_delay=1_000, requests_per_hour=60, burst_limit=10)
    fresh, doubtful = Pace(policy, rest_until=0), Pace(policy, rest_until=0)
    doubtful.assume_unreported(5 * SECOND, 15 * SECOND)
    assert fresh.wait(6 * SECOND) == 0
    assert doubtful.next_at == 5 * SECOND + MINUTE + 1, "the burst may be spent"
    assert doubtful.hour.total == 11


def test_answers_that_take_longer_and_longer_slow_us_down() -> None:
    pace, rng = Pace(Policy(min_delay=1_000), rest_until=0), random.Random(1)
    for _ in range(100):
        pace.observe(200)
    pace.started()
    pace.sent(0, rng)
    assert pace.next_at == 1_001
    for _ in range(10):
        pace.observe(2_000)
    assert 4_000 < pace.next_at <= 8_001, "eight times at most"
    slowed = carried_over(pace)
    assert abs(slowed.next_at - pace.next_at) <= 50, "whoever has it next is as slow"
    for _ in range(20):
        pace.observe(200)
    assert pace.next_at == 1_001


@pytest.mark.parametrize("answers", ["exponential", "two sorts", "a slow first"])
def test_a_site_that_answers_unevenly_is_not_under_strain(answers: str) -> None:
    rng, strain = random.Random(5), Strain()
    stretches = []
    for n in range(5_000):
        strain.observe({"exponential": rng.expovariate(1 / 600),
                      "two sorts": rng.choice((100, 1_500)),
                      "a slow first": 200 if n else 20_000}[answers])  # fmt: skip
        stretches.append(strain.stretch)
    assert sum(stretches) / len(stretches) < 1.05
    before = strain.recent
    for _ in range(10):
        strain.observe(5 * max(before, 600))
    assert strain.stretch > 2, "and still it is noticed when answers climb"


def test_after_trouble_one_request_goes_alone() -> None:
    pace, rng = Pace(Policy(min_delay=0, concurrency=4), rest_until=0), random.Random(1)
    pace.resting = True
    pace.started()
    pace.sent(0, rng)
    assert pace.wait(0) is None
    pace.resting = False
    assert pace.wait(0) == 0


def test_one_under_suspicion_is_asked_one_by_one() -> None:
    pace = Pace(Policy(min_delay=0, concurrency=4), rest_until=0)
    pace.alone = True
    pace.started()
    assert pace.wait(0) is None


def test_whoever_is_next_knows_what_the_last_hour_had() -> None:
    """The burst is long over, and still the hour is full."""
    policy, rng = Policy(min_delay=0, requests_per_hour=10, burst_limit=10), random.Random(1)
    pace = Pace(policy, rest_until=0)
    for _ in range(10):
        pace.started()
        pace.sent(0, rng)
        pace.ended(0, rng, was_sent=True)
    assert pace.wait(50 * MINUTE) == 10 * MINUTE + 1
    assert carried_over(pace).wait(50 * MINUTE) == 10 * MINUTE + 1


def test_a_site_under_strain_is_spaced_also_where_its_policy_has_no_delay() -> None:
    pace, rng = Pace(Policy(min_delay=0, concurrency=2), rest_until=0), random.Random(1)
    for ms in [300] * 100 + [3_000] * 10:
        pace.observe(ms)
    stretch = pace.strain.stretch
    assert stretch > 2
    pace.started()
    assert pace.wait(0) is None, "the next counts from when this one leaves"
    pace.sent(0, rng)
    wait = pace.wait(0)
    assert wait is not None
    assert abs(wait - 100 * stretch) <= 2


def asked(pace: Pace, now: int, times: int) -> int:
    """As soon as they may; returns when the last one left."""
    for _ in range(times):
        now += pace.wait_when_free(now)
        pace.request_left(now, random.Random(1))
    return now


@given(policies, st.integers(1, 40), st.sampled_from([1, 2, 60, 600]), st.booleans())
def test_a_larger_limit_never_makes_anybody_wait_longer(
    policy: Policy, requests: int, times: int, stored: bool
) -> None:
    policy = replace(policy, requests_per_hour=policy.requests_per_hour or 60, hours=None)
    pace = Pace(policy, rest_until=SPRING)
    now = asked(pace, SPRING, requests)
    before = pace.wait_when_free(now)
    larger = replace(policy, requests_per_hour=policy.requests_per_hour * times)
    if stored:
        pace = resumed(larger, pace.stored(), last=pace.last, next_at=pace.next_at, offset=0)
    else:
        pace.adopt(larger)
    assert pace.wait_when_free(now) <= before + 1


def test_a_limit_that_is_set_counts_what_came_in_the_hour_before() -> None:
    limited = Policy(min_delay=1_000, requests_per_hour=60, burst_limit=60)
    unlimited = replace(limited, requests_per_hour=0)
    pace = Pace(unlimited, rest_until=SPRING)
    now = asked(pace, SPRING, 1_000)
    pace.adopt(limited)
    assert now - SPRING + pace.wait_when_free(now) >= HOUR, "a thousand were more than enough"


def test_a_limit_that_was_taken_away_for_a_while_still_holds() -> None:
    limited = Policy(min_delay=0, requests_per_hour=60, burst_limit=60)
    pace = Pace(limited, rest_until=SPRING)
    now = asked(pace, SPRING, 60)
    pace.adopt(replace(limited, requests_per_hour=0))
    pace = carried_over(pace)
    pace.adopt(limited)
    assert pace.wait_when_free(now) > HOUR - 2 * MINUTE


def test_a_bucket_that_nobody_filled_is_as_full_as_the_last_hour_made_it() -> None:
    spread = Policy(min_delay=0, requests_per_hour=360, burst_limit=5)
    pace = Pace(replace(spread, requests_per_hour=0), rest_until=SPRING)
    now = asked(pace, SPRING, 20)
    pace.adopt(spread)
    assert 9 * SECOND < pace.wait_when_free(now) <= 10 * SECOND + 1
    assert pace.wait_when_free(now + MINUTE) == 0


def test_without_a_limit_little_is_stored_of_the_last_hour() -> None:
    pace = Pace(Policy(min_delay=0), rest_until=SPRING)
    for second in range(3 * 3_600):
        pace.request_left(SPRING + second * SECOND, random.Random(1))
    assert len(pace.stored()["hour"]) <= 13
