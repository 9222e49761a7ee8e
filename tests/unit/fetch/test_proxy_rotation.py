"""Which proxy is next, and how long one rests."""

from curtsy.fetch import proxy_rotation
from curtsy.fetch.proxy_rotation import FIRST_REST, LONGEST_REST, ProxyRotation
from support.frontier import Time

A, B, C = THREE = ("http://a:1", "socks5://b:1", "https://c:1")
HOST = "shop.example"


def made() -> tuple[ProxyRotation, Time]:
    time = Time(0)
    return ProxyRotation(now=lambda: float(time())), time


def test_they_take_turns() -> None:
    rotation, _time = made()
    assert [rotation.ready(THREE, HOST) for _ in range(4)] == [
        [A, B, C], [B, C, A], [C, A, B], [A, B, C],
    ]  # fmt: skip


def test_one_that_failed_is_left_out_until_its_rest_is_over_and_rests_longer_each_time() -> None:
    rotation, time = made()
    rests = []
    for _ in range(8):
        rotation.failed(B)
        rotation.failed(B)  # at the same time: it does not count twice
        assert B not in rotation.ready(THREE, HOST)
        began = time()
        while B not in rotation.ready(THREE, HOST):
            time.moves(1)
        rests.append(time() - began)
    assert rests == [60, 120, 240, 480, 960, 1_800, 1_800, 1_800]
    assert (rests[0], rests[-1]) == (FIRST_REST, LONGEST_REST)
    rotation.worked(B, HOST)
    rotation.failed(B)
    assert rotation.back_in([B], HOST) == FIRST_REST


def test_what_may_be_the_host_s_fault_counts_for_that_host() -> None:
    rotation, _time = made()
    for proxy in THREE:
        rotation.failed(proxy, HOST)
    assert rotation.ready(THREE, HOST) == []
    assert rotation.back_in(THREE, HOST) == FIRST_REST
    assert len(rotation.ready(THREE, "other.example")) == 3
    assert rotation.back_in(THREE, "other.example") == 0


def test_a_host_is_at_fault_once_enough_proxies_failed_whenever_that_was() -> None:
    rotation, time = made()
    many = [f"http://p{number}:1" for number in range(9)]
    for proxy in many[:3]:
        assert not rotation.host_fails(many, HOST)
        rotation.failed(proxy, HOST)
        time.moves(2 * int(FIRST_REST))
    assert rotation.back_in(many, HOST) == 0
    assert rotation.host_fails(many, HOST)
    assert not rotation.host_fails(many, "other.example")
    rotation.worked(many[1], HOST)
    assert not rotation.host_fails(many, HOST)


def test_of_few_proxies_those_in_order_are_enough() -> None:
    rotation, _time = made()
    rotation.failed(A, HOST)
    rotation.failed(B, HOST)
    assert not rotation.host_fails(THREE, HOST)
    rotation.failed(C)
    assert rotation.host_fails(THREE, HOST)


def test_its_memory_is_bounded() -> None:
    rotation, _time = made()
    for number in range(proxy_rotation.MOST_REMEMBERED + 500):
        rotation.failed(f"http://p{number}:1")
        rotation.ready((f"http://p{number}:1",), HOST)
    assert len(rotation._rests) == len(rotation._next) == proxy_rotation.MOST_REMEMBERED
