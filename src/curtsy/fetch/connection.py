"""One connection to one origin, for one request after another."""

import asyncio
from typing import cast

from curtsy.fetch.fetch_errors import TimeUp
from curtsy.fetch.request import Origin
from curtsy.fetch.response_parser import ResponseParser


class Connection(asyncio.Protocol):
    def __init__(self, origin: Origin) -> None:
        self.origin = origin
        self._transport = cast("asyncio.Transport", None)
        self._incoming: ResponseParser | None = None
        self._done: asyncio.Future[None] | None = None
        self._is_spoilt = False

    async def send(self, request: bytes, parser: ResponseParser, *, until: float) -> None:
        """Writes the request before the first await. Returns when the response is complete or has
        failed; at `until`, by the loop's clock, it fails. Closes the parser.
        """
        loop = asyncio.get_running_loop()
        self._incoming = parser
        self._done = loop.create_future()
        time_up = loop.call_at(until, self._time_out)
        parser.sent_at = loop.time()
        self._transport.write(request)
        try:
            await self._done
        finally:
            time_up.cancel()
            self._incoming = None
            self._is_spoilt = self._is_spoilt or not parser.leaves_connection_usable
            if self._is_spoilt:
                self.close()
            parser.close()

    @property
    def usable(self) -> bool:
        return not (self._is_spoilt or self._transport.is_closing())

    def close(self) -> None:
        self._transport.abort()

    # Called by the event loop.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        parser = self._incoming
        if parser is None or parser.is_done():
            self._is_spoilt = True  # unexpected data must not pass for the next response
            self.close()
            return
        parser.feed(data)
        if not parser.answered_at and parser.status:
            parser.answered_at = asyncio.get_running_loop().time()
        if parser.is_done():
            self._end()

    def connection_lost(self, exc: Exception | None) -> None:
        self._is_spoilt = True
        parser = self._incoming
        if parser is not None and not parser.is_done():
            parser.end(exc)
            self._end()

    def _time_out(self) -> None:
        if self._incoming is not None:
            self._incoming.error = TimeUp("its time is over")
            self._end()

    def _end(self) -> None:
        if self._done is not None and not self._done.done():
            self._done.set_result(None)
