"""Addresses that we may not connect to: refused when they are named, not only when met."""

import pytest

from api.front import assert_problem, front
from curtsy.clock import Clock
from curtsy.fetch import parse_networks
from curtsy.jobs import SubmitLimits
from curtsy.store import Store
from support.engine import engine


@pytest.mark.parametrize(
    ("url", "means"),
    [
        ("http://10.0.0.1/", "private"),
        ("http://0x0a000001/", "private"),
        ("http://012.0.0.1:8080/", "private"),
        ("http://169.254.169.254/latest/", "link-local"),
        ("http://[::1]/", "this machine"),
        ("http://[::ffff:10.0.0.1]:81/", "private"),
        ("http://[64:ff9b::10.0.0.1]/", "private"),
        ("http://localhost:5432/", "this machine"),
        ("http://a.localhost/", "this machine"),
        ("http://localhost./", "this machine"),
    ],
)
async def test_an_address_that_we_may_not_connect_to_is_refused_at_once(
    store: Store, clock: Clock, url: str, means: str
) -> None:
    async with front(store, engine(store, clock), SubmitLimits()) as door:
        answer = await door.submit(url)
    assert_problem(answer, 422, "bad_request")
    assert f"which is {means}" in str(answer.json)
    assert "ALLOW_ADDRESSES" in str(answer.json)


async def test_an_address_that_the_operator_allows_is_taken(store: Store, clock: Clock) -> None:
    allowed = SubmitLimits(allow=parse_networks("10.0.0.0/8, ::1"))
    async with front(store, engine(store, clock), allowed) as door:
        for url in ("http://10.1.2.3/", "http://[::1]:8000/", "http://a10.example/"):
            assert (await door.submit(url)).status == 201


@pytest.mark.parametrize(
    "url", ["http://a.example:25/", "https://8.8.8.8:22/", "http://[::1]:6667/"]
)
async def test_a_port_that_browsers_block_is_refused_at_once(
    store: Store, clock: Clock, url: str
) -> None:
    everywhere = SubmitLimits(allow=parse_networks("0.0.0.0/0 ::/0"))
    async with front(store, engine(store, clock), everywhere) as door:
        answer = await door.submit(url)
        assert_problem(answer, 422, "bad_request")
        assert "which browsers block too." in str(answer.json)
        hook = await door.submit("http://a.example/", webhook_url=url)
        assert_problem(hook, 422, "bad_request")
