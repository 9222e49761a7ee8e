"""Server-sent events, with keep-alive comments; a stream ends when its client stops reading."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing

from fastapi import Request, Response
from starlette.types import Receive, Scope, Send

from curtsy.errors import StoreAway

MEDIA_TYPE = "text/event-stream"
PREAMBLE = b"retry: 500\n\n"
"""A client reconnects this many milliseconds after the connection ends."""
KEEP_ALIVE = b": still here\n\n"
KEEP_ALIVE_SECONDS = 15.0
SEND_WITHIN_SECONDS = 30.0
"""A client that reads nothing for this long is disconnected; it reconnects with its last id."""


def sse(data: bytes, *, id: str, event: str | None = None) -> bytes:  # noqa: A002
    """Formats one event. The data is JSON on one line."""
    name = f"event: {event}\n" if event else ""
    return b"".join((f"id: {id}\n{name}data: ".encode(), data, b"\n\n"))


def sse_place(id: str) -> bytes:  # noqa: A002
    """Formats an id without an event: where a client resumes that has received no event yet."""
    return f"id: {id}\n\n".encode()


def wants_stream(request: Request) -> bool:
    return MEDIA_TYPE in request.headers.get("accept", "").lower()


class EventStream(Response):
    """Ends with its last piece, and when the server stops; the client reconnects and resumes."""

    media_type = MEDIA_TYPE

    def __init__(
        self, pieces: AsyncGenerator[bytes], headers: Mapping[str, str] | None = None
    ) -> None:
        own = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        super().__init__(headers=dict(headers or {}) | own)
        del self.headers["content-length"]
        self._pieces = pieces

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        sender = _Sender(send)
        await sender.send(PREAMBLE)  # at once, so that the client sees the stream open
        sending = asyncio.create_task(_send_all(self._pieces, sender))
        stopping = asyncio.create_task(scope["app"].state.stopping.wait())
        gone = asyncio.create_task(_until_gone(receive))
        tasks = (sending, stopping, gone, asyncio.create_task(sender.keep_alive()))
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        try:
            if not sending.cancelled():
                sending.result()
            elif stopping.cancelled():
                return  # the client is gone, or reads nothing
        except TimeoutError:
            return
        except StoreAway:
            pass  # the client reconnects and resumes
        await sender.end()


class _Sender:
    """Sends the pieces, and keep-alive comments while there are none."""

    def __init__(self, send: Send) -> None:
        self._send, self._sent_at = send, 0.0
        self._now = asyncio.get_running_loop().time

    async def send(self, piece: bytes) -> None:
        self._sent_at = self._now()
        async with asyncio.timeout(SEND_WITHIN_SECONDS):
            await self._send({"type": "http.response.body", "body": piece, "more_body": True})

    async def end(self) -> None:
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})

    async def keep_alive(self) -> None:
        while True:
            idle = self._now() - self._sent_at
            if idle >= KEEP_ALIVE_SECONDS:
                await self.send(KEEP_ALIVE)
            else:
                await asyncio.sleep(KEEP_ALIVE_SECONDS - idle)


async def _send_all(pieces: AsyncGenerator[bytes], sender: _Sender) -> None:
    async with aclosing(pieces):
        async for piece in pieces:
            await sender.send(piece)


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
