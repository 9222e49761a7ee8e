"""Server-sent events: a stream that says that it lives, and ends when nobody reads it."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

from fastapi import Response
from starlette.types import Receive, Scope, Send

from curtsy.errors import StoreAway

MEDIA_TYPE = "text/event-stream"
BEGINNING = b"retry: 500\n\n"
"""A client that is cut off comes back after so many milliseconds."""
KEEP_ALIVE = b": still here\n\n"
KEEP_ALIVE_SECONDS = 15.0
SEND_WITHIN_SECONDS = 30.0
"""A client that takes nothing for so long is let go; it comes back with its last id."""


def sse(data: bytes, *, id: str, event: str | None = None) -> bytes:  # noqa: A002
    """One event. The data is JSON on one line."""
    name = f"event: {event}\n" if event else ""
    return b"".join((f"id: {id}\n{name}data: ".encode(), data, b"\n\n"))


def sse_place(id: str) -> bytes:  # noqa: A002
    """No event, but where a client is that has heard none yet and is cut off."""
    return f"id: {id}\n\n".encode()


class EventStream(Response):
    """Ends with its pieces, and when the server stops: the client comes back where it was."""

    media_type = MEDIA_TYPE

    def __init__(self, pieces: AsyncGenerator[bytes]) -> None:
        super().__init__(headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._pieces = pieces

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        voice = _Voice(send)
        await voice.say(BEGINNING)  # so that a client knows at once that it is heard
        telling = asyncio.create_task(_tell_all(self._pieces, voice))
        stopping = asyncio.create_task(scope["app"].state.stopping.wait())
        gone = asyncio.create_task(_until_gone(receive))
        tasks = (telling, stopping, gone, asyncio.create_task(voice.keep_alive()))
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        try:
            if not telling.cancelled():
                telling.result()
            elif stopping.cancelled():
                return  # the client is gone, or takes nothing
        except TimeoutError:
            return
        except StoreAway:
            pass  # a client comes back where it was
        await voice.end()


class _Voice:
    """What says the pieces to the client, and now and then that it is still there."""

    def __init__(self, send: Send) -> None:
        self._send, self._spoke_at = send, 0.0
        self._now = asyncio.get_running_loop().time

    async def say(self, piece: bytes) -> None:
        self._spoke_at = self._now()
        async with asyncio.timeout(SEND_WITHIN_SECONDS):
            await self._send({"type": "http.response.body", "body": piece, "more_body": True})

    async def end(self) -> None:
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})

    async def keep_alive(self) -> None:
        while True:
            silent = self._now() - self._spoke_at
            if silent >= KEEP_ALIVE_SECONDS:
                await self.say(KEEP_ALIVE)
            else:
                await asyncio.sleep(KEEP_ALIVE_SECONDS - silent)


async def _tell_all(pieces: AsyncGenerator[bytes], voice: _Voice) -> None:
    async with aclosing(pieces):
        async for piece in pieces:
            await voice.say(piece)


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
