"""One connection to one origin: a request, its answer, and perhaps another."""

import asyncio
from typing import cast

from curtsy.fetch.errors import TimeUp
from curtsy.fetch.request import Origin
from curtsy.fetch.response_parser import ResponseParser


class Connection(asyncio.Protocol):
    def __init__(self, origin: Origin) -> None:
        self.origin = origin
        self._transport = cast("asyncio.Transport", None)
        self._incoming: ResponseParser | None = None
        self._answered: asyncio.Future[None] | None = None
        self._spoilt = False

    async def ask(self, request: bytes, incoming: ResponseParser, *, until: float) -> None:
        """Writes before it first yields. Returns when the answer is complete or in trouble.

        At `until`, by the loop's clock, it is in trouble.
        """
        loop = asyncio.get_running_loop()
        self._incoming = incoming
        self._answered = loop.create_future()
        time_up = loop.call_at(until, self._time_is_up)
        incoming.asked_at = loop.time()
        self._transport.write(request)
        try:
            await self._answered
        finally:
            time_up.cancel()
            self._incoming = None
            self._spoilt = self._spoilt or not incoming.leaves_connection_usable
            if self._spoilt:
                self.close()

    @property
    def usable(self) -> bool:
        return not (self._spoilt or self._transport.is_closing())

    def close(self) -> None:
        self._transport.abort()

    # What the event loop calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        incoming = self._incoming
        if incoming is None or incoming.is_over():
            self._spoilt = True  # nobody asked: it must not be taken for the next answer
            self.close()
            return
        incoming.feed(data)
        if not incoming.answered_at and incoming.status:
            incoming.answered_at = asyncio.get_running_loop().time()
        if incoming.is_over():
            self._end()

    def connection_lost(self, exc: Exception | None) -> None:
        self._spoilt = True
        incoming = self._incoming
        if incoming is not None and not incoming.is_over():
            incoming.end(exc)
            self._end()

    def _time_is_up(self) -> None:
        if self._incoming is not None:
            self._incoming.trouble = TimeUp("its time is over")
            self._end()

    def _end(self) -> None:
        if self._answered is not None and not self._answered.done():
            self._answered.set_result(None)
