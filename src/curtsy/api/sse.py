"""Server-sent events: a stream that says that it lives, and ends when nobody reads it."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from typing import Any

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


class EventStream(Response):
    media_type = MEDIA_TYPE

    def __init__(self, pieces: AsyncGenerator[bytes]) -> None:
        super().__init__(headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._pieces = pieces

    async def __call__(self, _scope: Scope, receive: Receive, send: Send) -> None:
        gone = asyncio.create_task(_until_gone(receive))
        try:
            async with aclosing(self._pieces):
                start = {"type": "http.response.start", "status": 200, "headers": self.raw_headers}
                await send(start)
                await self._send_all(send, gone)
        finally:
            gone.cancel()

    async def _send_all(self, send: Send, gone: asyncio.Task[None]) -> None:
        await _send_piece(send, BEGINNING)  # so that a client knows at once that it is heard
        while not gone.done():
            piece = asyncio.ensure_future(anext(self._pieces))
            try:
                if not await self._wait_for(piece, send, gone):
                    return
                await _send_piece(send, piece.result())
            except (StopAsyncIteration, StoreAway):  # a client comes back where it was
                await send({"type": "http.response.body", "body": b"", "more_body": False})
                return
            except TimeoutError:
                return
            finally:
                await _dropped(piece)

    async def _wait_for(
        self, piece: asyncio.Future[bytes], send: Send, gone: asyncio.Task[None]
    ) -> bool:
        """Whether the piece is there, rather than the client gone."""
        first: set[asyncio.Future[Any]] = {piece, gone}
        while not piece.done():
            await asyncio.wait(
                first, timeout=KEEP_ALIVE_SECONDS, return_when=asyncio.FIRST_COMPLETED
            )
            if gone.done():
                return False
            if not piece.done():
                await _send_piece(send, KEEP_ALIVE)
        return True


async def _send_piece(send: Send, piece: bytes) -> None:
    async with asyncio.timeout(SEND_WITHIN_SECONDS):
        await send({"type": "http.response.body", "body": piece, "more_body": True})


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _dropped(piece: asyncio.Future[bytes]) -> None:
    """Not needed any more; the generator may only be closed when this has ended."""
    piece.cancel()
    with suppress(asyncio.CancelledError, StopAsyncIteration, Exception):
        await piece
