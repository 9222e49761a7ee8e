"""What goes on for long ends with the key that it was asked for with."""

import asyncio
from typing import Any

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from api.front import Front
from api.visitors import MovableClock, revoke, visitor
from curtsy.api.auth.stream_access import StreamAccess
from curtsy.clock import SECOND
from curtsy.errors import KeyNeeded, StoreAway
from support.patience import PATIENCE

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
