"""What is remembered of hosts in trouble, and when one of them counts as dead."""

import json

from curtsy.politeness.host_health import (
    ANNOUNCED_AT_MOST,
    HEALTHY,
    MOST_REMEMBERED,
    HostHealth,
    Hosts,
)
from curtsy.politeness.policy import Policy

POLICY = Policy()
MINUTE = 60_000


def failing(times: int, rest: int, *, announced: bool = False) -> HostHealth | None:
    health: HostHealth | None = HEALTHY
    for _ in range(times):
        assert health is not None
        health = health.failed(rest, POLICY, announced=announced)
    return health


def test_a_host_is_dead_after_four_failed_probes() -> None:
    assert failing(3, MINUTE) is not None
    assert failing(4, MINUTE) is None


def test_or_after_an_hour_in_which_it_was_left_alone() -> None:
    patient = Policy(give_up_probes=100)
    health = HEALTHY
    for probe in range(6):
        after = health.failed(10 * MINUTE, patient, announced=False)
        assert after is not None, probe
        health = after
    assert health.failed(10 * MINUTE, patient, announced=False) is None, "an hour of rests"


def test_announced_rests_do_not_count_towards_death_but_not_for_ever() -> None:
    alive = failing(ANNOUNCED_AT_MOST - 1, 2 * 60 * MINUTE, announced=True)
    assert alive is not None
    assert alive.failed(1, POLICY, announced=True) is None


def test_hosts_are_remembered_one_by_one() -> None:
    hosts = Hosts()
    ill = failing(2, MINUTE)
    assert ill is not None
    hosts.failed("old.example", ill)
    hosts.give_up("dead.example", 5_000, "connect")
    assert hosts.health("old.example") == ill
    assert hosts.health("new.example") == HEALTHY
    later = Hosts.resumed(json.loads(json.dumps(hosts.stored(9_000))), 19_000)
    assert later.health("old.example") == ill
    assert later.given_up("dead.example") == (15_000, "connect"), "as long before as it was"
    later.answered("dead.example")
    assert not later.some_given_up
    later.answered("old.example")
    assert not later


def test_only_so_many_are_remembered() -> None:
    hosts = Hosts()
    for n in range(MOST_REMEMBERED + 1):
        hosts.failed(f"{n}.example", HostHealth(1))
        hosts.give_up(f"gone{n}.example", n, "dns")
    assert hosts.health("0.example") == HEALTHY
    assert hosts.health(f"{MOST_REMEMBERED}.example") == HostHealth(1)
    assert hosts.given_up("gone0.example") is None
    assert hosts.given_up("gone1.example") is not None
