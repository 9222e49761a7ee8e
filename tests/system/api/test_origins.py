"""Pages of strangers in a browser nearby: refused by Host and Origin, also when all is open."""

import json
from typing import Any

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from api.front import Front, assert_problem, front
from api.visitors import MovableClock, visitor
from curtsy.api.auth.access_rules import AccessRules
from curtsy.clock import SECOND
from curtsy.store import Store
from support.engine import engine

PARTNER = "https://partner.example"
OURS = AccessRules(hosts=frozenset({"curtsy.example"}), origins=(PARTNER,))
STRANGERS = ("http://evil.example", "null", "https://evil.example:8000", "file://", "", "http://")


def port(door: Front) -> str:
    return door.url.rpartition(":")[2]


async def ask(door: Front, method: str = "GET", path: str = "/jobs", **headers: str) -> Any:
    return await door.ask(method, path, headers=headers)


async def test_only_by_addresses_and_our_own_names_are_we_called(
    store: Store, movable: MovableClock
) -> None:
    async with front(store, engine(store, movable), access_rules=OURS) as door:
        for ours in ("127.0.0.1", "localhost", "LOCALHOST", "[::1]", "10.1.2.3", "curtsy.example",
                     "Curtsy.Example"):  # fmt: skip
            for host in (ours, f"{ours}:{port(door)}"):
                assert (await ask(door, Host=host)).status == 200, host
        for host in ("evil.example", f"evil.example:{port(door)}", "127.0.0.1.evil.example", "",
                     "localhost.evil.example", "127.0.0.1@evil.example", "[::1", "::1", "0x7f.1",
                     "a.curtsy.example", "curtsy.example."):  # fmt: skip
            for path in ("/jobs", "/health", "/docs", "/nothing"):
                refused = await ask(door, path=path, Host=host)
                assert_problem(refused, 403, "not_allowed")
                assert "CURTSY_ALLOWED_HOSTS" in refused.json["detail"]


async def test_a_page_from_elsewhere_may_ask_nothing_even_of_an_open_door(
    plain_door: Front,
) -> None:
    for origin in STRANGERS:
        for method, path in (("GET", "/jobs"), ("POST", "/jobs"), ("POST", "/session"),
                             ("GET", "/health"), ("OPTIONS", "/jobs")):  # fmt: skip
            refused = await ask(plain_door, method, path, Origin=origin)
            assert_problem(refused, 403, "not_allowed")
            assert "access-control-allow-origin" not in refused.headers
    assert (await plain_door.get("/jobs")).json["total"] == 0


async def test_a_page_of_our_own_may(plain_door: Front) -> None:
    for origin in (plain_door.url, plain_door.url.upper(), plain_door.url.replace("http", "https")):
        assert (await ask(plain_door, Origin=origin)).status == 200
    behind_a_proxy = {"Host": "localhost", "Origin": "https://localhost"}
    assert (await ask(plain_door, **behind_a_proxy)).status == 200
    other_port = {"Host": "localhost:8000", "Origin": "http://localhost:9000"}
    assert_problem(await ask(plain_door, **other_port), 403, "not_allowed")


async def test_an_origin_that_is_named_may_ask_and_is_answered_as_browsers_want_it(
    store: Store, movable: MovableClock
) -> None:
    async with front(store, engine(store, movable), access_rules=OURS) as door:
        preflight = {
            "Origin": PARTNER, "Access-Control-Request-Method": "DELETE",
            "Access-Control-Request-Headers": "authorization, content-type",
        }  # fmt: skip
        allowed = await _raw(door, "OPTIONS", "/jobs/job_x", preflight)
        assert allowed["status"] == 200
        assert allowed["access-control-allow-origin"] == PARTNER
        assert "DELETE" in allowed["access-control-allow-methods"]
        assert "access-control-allow-credentials" not in allowed
        assert (await _raw(door, "OPTIONS", "/jobs", preflight | {"Origin": "http://e.example"}))[
            "status"
        ] == 403
        ann = await visitor(door)
        movable.advance(SECOND)
        for answer in (await ask(door, Origin=PARTNER),
                       await ann.ask("GET", "/jobs", headers={"Origin": PARTNER})):  # fmt: skip
            assert answer.headers["access-control-allow-origin"] == PARTNER
        assert (await ask(door, Origin=PARTNER)).status == 401


async def _raw(door: Front, method: str, path: str, headers: dict[str, str]) -> dict[str, Any]:
    async with door.session.request(method, door.url + path, headers=headers) as reply:
        return {"status": reply.status} | {n.lower(): v for n, v in reply.headers.items()}


async def refused_socket(door: Front, **headers: str) -> int | None:
    """The status with which it is not even opened, and of which a problem document tells."""
    url = door.url.replace("http://", "ws://") + "/ws"
    try:
        async with connect(url, additional_headers=headers, open_timeout=30):
            return None
    except InvalidStatus as refused:
        answer = refused.response
        assert answer.headers["Content-Type"] == "application/problem+json"
        assert json.loads(answer.body or b"")["status"] == answer.status_code
        return int(answer.status_code)


async def test_a_websocket_is_opened_for_whom_the_rest_is(
    guarded: Front, movable: MovableClock, caplog: pytest.LogCaptureFixture
) -> None:
    assert await refused_socket(guarded) is None
    assert await refused_socket(guarded, Origin="http://evil.example") == 403
    assert await refused_socket(guarded, Origin=f"http://{'e' * 500}") == 403
    ann = await visitor(guarded)
    movable.advance(SECOND)
    assert await refused_socket(guarded) == 401
    assert await refused_socket(guarded, Authorization="Bearer curtsy_0_0") == 401
    assert await refused_socket(guarded, **ann.headers) is None
    assert caplog.records == [], "a refusal is nothing that the server has to tell of"


async def test_with_a_cookie_only_a_page_of_our_own_opens_a_websocket(
    store: Store, movable: MovableClock
) -> None:
    async with front(store, engine(store, movable), access_rules=OURS) as door:
        ann = await visitor(door)
        opened = await door.ask("POST", "/session", json={"key": ann.key})
        cookie = {"Cookie": opened.headers["set-cookie"].partition(";")[0]}
        assert await refused_socket(door, **cookie, Origin=door.url) is None
        assert await refused_socket(door, **cookie) == 403
        assert await refused_socket(door, **cookie, Origin=PARTNER) == 403
        assert await refused_socket(door, **ann.headers, Origin=PARTNER) is None
