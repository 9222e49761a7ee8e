"""What goes on for long ends with the key that it was asked for with."""

import asyncio
import json
import time
from contextlib import AsyncExitStack
from typing import Any

import aiohttp
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from api.front import Front
from api.visitors import MovableClock, revoke, visitor
from curtsy.api.auth.open_streams import CHECK_SECONDS
from curtsy.api.auth.stream_access import StreamAccess
from curtsy.clock import SECOND
from curtsy.errors import KeyNeeded, StoreAway
from support.patience import PATIENCE, TRIES
from support.sql import statements_ran

PAGE = "http://example.com/"
SAID = {"type": "websocket.send", "text": "news"}


async def test_a_stream_ends_when_its_key_is_revoked(guarded: Front, movable: MovableClock) -> None:
    ann, bob = await visitor(guarded), await visitor(guarded, "bob")
    job = await ann.job(PAGE)
    url = guarded.url.replace("http://", "ws://") + f"/ws/jobs/{job}"
    log = f"{guarded.url}/jobs/{job}/logs"
    async with (
        asyncio.timeout(PATIENCE),
        connect(url, additional_headers=ann.headers) as socket,
        guarded.session.get(log, headers=ann.headers) as stream,
    ):
        await socket.recv()
        await _until_said(stream, b"Queued")
        await revoke(ann)
        movable.advance(SECOND)
        await guarded.backend.cancel(job)
        with pytest.raises(ConnectionClosed):
            await socket.recv()
        assert socket.close_code == 4401
        assert b"Cancelled" not in await stream.read()
    assert (await bob.get("/jobs")).status == 200


async def until_closed(socket: ClientConnection) -> float:
    """Seconds; whatever is said before is an error."""
    began = time.monotonic()
    with pytest.raises(ConnectionClosed):
        await socket.recv()
    return time.monotonic() - began


async def test_streams_on_which_nothing_is_said_end_within_a_second_too(door: Front) -> None:
    """The clock goes as it goes; of some tries one is not spoilt by the machine."""
    bob = await visitor(door, "bob")
    seconds = []
    async with asyncio.timeout(PATIENCE), connect(ws(door), additional_headers=bob.headers) as his:
        await his.recv()
        for _ in range(TRIES):
            ann = await visitor(door)
            opened = await door.ask("POST", "/session", json={"key": ann.key})
            cookie = {"Cookie": opened.headers["set-cookie"].partition(";")[0]}
            own = cookie | {"Origin": door.url}
            async with (
                connect(ws(door), additional_headers=ann.headers) as first,
                connect(ws(door), additional_headers=own) as with_cookie,
                door.session.get(f"{door.url}/events", headers=ann.headers) as stream,
                door.session.get(f"{door.url}/events", headers=cookie) as stream_with_cookie,
            ):
                await first.recv()
                await with_cookie.recv()
                await revoke(ann)
                ends = await asyncio.gather(
                    until_closed(first), until_closed(with_cookie), until_over(stream),
                    until_over(stream_with_cookie),
                )  # fmt: skip
                assert (first.close_code, with_cookie.close_code) == (4401, 4401)
                seconds.append(max(ends))
        job = await bob.job(PAGE)
        assert json.loads(await his.recv())["job_id"] == job, "his goes on"
    assert min(seconds) < 1


async def until_over(stream: aiohttp.ClientResponse) -> float:
    began = time.monotonic()
    assert b"still here" not in await stream.read(), "it ends before the next sign of life"
    return time.monotonic() - began


def ws(door: Front, path: str = "/ws") -> str:
    return door.url.replace("http://", "ws://") + path


async def test_a_stream_without_a_key_ends_with_the_first_key(door: Front) -> None:
    async with asyncio.timeout(PATIENCE), connect(ws(door)) as socket:
        await socket.recv()
        await visitor(door)
        await until_closed(socket)
        assert socket.close_code == 4401


async def test_a_stream_ends_with_the_session_that_opened_it(door: Front) -> None:
    ann = await visitor(door)
    opened = await door.ask("POST", "/session", json={"key": ann.key})
    sent = {"Cookie": opened.headers["set-cookie"].partition(";")[0], "Origin": door.url}
    async with asyncio.timeout(PATIENCE), connect(ws(door), additional_headers=sent) as socket:
        await socket.recv()
        token = {"X-CSRF-Token": opened.json["csrf_token"]}
        assert (await door.ask("DELETE", "/session", headers=sent | token)).status == 204
        await until_closed(socket)


async def test_many_streams_of_one_key_are_asked_about_once(door: Front) -> None:
    ann = await visitor(door)
    async with asyncio.timeout(PATIENCE), AsyncExitStack() as stack:
        for _ in range(20):
            opened = connect(ws(door), additional_headers=ann.headers)
            await (await stack.enter_async_context(opened)).recv()
        with statements_ran("FROM api_keys WHERE public_id IN") as reads:
            await asyncio.sleep(5 * CHECK_SECONDS)
    assert 1 <= len(reads) <= 6


async def _until_said(stream: Any, words: bytes) -> None:
    said = b""
    while words not in said:
        said += await stream.content.readany()


class Hall:
    """Where something is said to someone who may be asked again."""

    def __init__(self, refusal: Exception | None = None) -> None:
        self.heard: list[Any] = []
        self.asked = 0
        self.now = 0
        self.refusal = refusal
        scope = {"type": "websocket"}
        self.say = StreamAccess(scope, self._hear, self._ask, lambda: self.now)

    async def _hear(self, message: Any) -> None:
        self.heard.append(message)

    async def _ask(self, _scope: Any) -> None:
        self.asked += 1
        if self.refusal is not None:
            raise self.refusal


async def test_after_a_long_silence_the_first_word_is_not_heard_either() -> None:
    hall = Hall(KeyNeeded())
    hall.now = SECOND
    for _ in range(3):
        await hall.say(SAID)
    assert [message["type"] for message in hall.heard] == ["websocket.close"]


async def test_one_is_asked_again_once_a_second() -> None:
    hall = Hall()
    for hall.now in range(0, 3 * SECOND, 50):
        await hall.say(SAID)
    assert hall.asked == 2
    assert len(hall.heard) == 60


async def test_a_store_that_is_away_ends_no_stream() -> None:
    hall = Hall(StoreAway("it rests"))
    hall.now = SECOND
    await hall.say(SAID)
    assert hall.heard == [SAID]


async def test_an_answer_that_is_complete_is_sent_however_long_it_took() -> None:
    hall = Hall(KeyNeeded())
    hall.now = 10 * SECOND
    whole = [{"type": "http.response.start", "status": 200}, {"type": "http.response.body"}]
    for message in whole:
        await hall.say(message)
    assert hall.heard == whole
