"""A key has so many streams open and no more, WebSockets and server-sent events together."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from api.front import Front, assert_problem, front
from api.visitors import Visitor, visitor
from curtsy.api.auth.access_rules import AccessRules
from curtsy.clock import Clock
from curtsy.config import load
from curtsy.store import Store
from support.engine import engine, until
from support.patience import PATIENCE

MOST = 3


@pytest.fixture
async def narrow(sqlite_url: str) -> AsyncIterator[Front]:
    rules = AccessRules(streams_per_key=MOST)
    async with (
        Store(sqlite_url) as store,
        front(store, engine(store, Clock()), access_rules=rules) as door,
    ):
        yield door


async def socket_status(of: Visitor) -> int:
    try:
        async with connect(ws(of.front), additional_headers=of.headers, open_timeout=30):
            return 101
    except InvalidStatus as error:
        refused = error.response
    problem = json.loads(refused.body or b"")
    assert (problem["code"], "STREAMS_PER_KEY" in problem["detail"]) == ("over_limit", True)
    assert int(refused.headers["Retry-After"]) > 0
    return int(refused.status_code)


def ws(door: Front) -> str:
    return door.url.replace("http://", "ws://") + "/ws"


async def test_one_stream_too_many_is_refused_and_the_end_of_another_makes_room(
    narrow: Front,
) -> None:
    ann, bob = await visitor(narrow), await visitor(narrow, "bob")
    opened = await narrow.ask("POST", "/session", json={"key": ann.key})
    cookie = {"Cookie": opened.headers["set-cookie"].partition(";")[0]}
    async with asyncio.timeout(PATIENCE), AsyncExitStack() as stack:
        socket = await stack.enter_async_context(
            connect(ws(narrow), additional_headers=ann.headers)
        )
        for headers in (ann.headers, cookie):
            events = f"{narrow.url}/events"
            stream = await stack.enter_async_context(narrow.session.get(events, headers=headers))
            assert stream.status == 200
        assert await socket_status(ann) == 429
        for headers in (ann.headers, cookie):
            refused = await narrow.ask("GET", "/events", headers=headers)
            assert_problem(refused, 429, "over_limit")
            assert "close one" in refused.json["detail"]
        job = await ann.job("http://example.com/")
        assert (await ann.get(f"/jobs/{job}/logs")).status == 429
        page = {"Accept": "application/json"}
        assert (await ann.ask("GET", "/events", headers=page)).status == 200, "a page is no stream"
        assert await socket_status(bob) == 101, "others have their own"
        await socket.close()

        async def has_room() -> bool:
            return await socket_status(ann) == 101

        await until(has_room, PATIENCE, lambda: "the end of a stream makes no room")


async def test_without_keys_the_streams_of_an_address_are_counted(narrow: Front) -> None:
    async with asyncio.timeout(PATIENCE), AsyncExitStack() as stack:
        for _ in range(MOST):
            await stack.enter_async_context(connect(ws(narrow)))
        assert_problem(await narrow.get("/events"), 429, "over_limit")


def test_there_is_a_limit_by_default_and_the_operator_sets_it() -> None:
    assert (load().streams_per_key, load(streams_per_key=7).streams_per_key) == (100, 7)
    assert AccessRules().streams_per_key == 100
