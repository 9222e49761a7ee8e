"""The parent's side of one child process."""

import asyncio
from typing import Any, cast

import orjson

from curtsy.extract.frames import LARGEST_RECORD, LENGTHS

LARGEST_ANSWER = LARGEST_RECORD + 2**20
"""No intact child sends more."""


class ChildGone(Exception):
    """The child ended before it answered. `status` is its exit status; None: unknown."""

    def __init__(self, status: int | None) -> None:
        super().__init__(status)
        self.status = status


class Garbled(Exception):
    """The child sent something that is not an answer: the scraper disturbed the process."""


class ChildProcess(asyncio.Protocol):
    def __init__(self) -> None:
        self.pid = 0
        self.pages = 0
        self.forked_at = 0.0
        """On the clock of its group."""
        self._transport = cast("asyncio.Transport", None)
        self._received = bytearray()
        self._expected = LENGTHS.size
        self._answer: asyncio.Future[tuple[dict[str, Any], bytes]] | None = None
        self._is_gone = False

    async def scrape(self, start: bytes, body: bytes) -> tuple[dict[str, Any], bytes]:
        """Sends one page and returns the answer. Raises `ChildGone`, once the exit status is
        known, or `Garbled`."""
        self.pages += 1
        self._received.clear()
        self._expected = LENGTHS.size
        self._answer = asyncio.get_running_loop().create_future()
        # One after the other: joining them would copy the page.
        self._transport.write(start)
        self._transport.write(body)
        return await self._answer

    @property
    def usable(self) -> bool:
        return not self._is_gone and not self._transport.is_closing()

    def close(self) -> None:
        """Closes the channel; an idle child ends when its channel closes."""
        self._transport.abort()

    def exited(self, status: int | None) -> None:
        self._is_gone = True
        self._fail(ChildGone(status))

    # Called by the event loop.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._received += data
        if self._expected == LENGTHS.size and len(self._received) >= LENGTHS.size:
            self._expected += sum(LENGTHS.unpack_from(self._received))
        if self._expected > LARGEST_ANSWER:
            self._fail(Garbled())
        elif self._expected > LENGTHS.size and len(self._received) >= self._expected:
            self._complete()

    def _complete(self) -> None:
        header_length, _ = LENGTHS.unpack_from(self._received)
        body_at = LENGTHS.size + header_length
        try:
            header = orjson.loads(memoryview(self._received)[LENGTHS.size : body_at])
        except orjson.JSONDecodeError:
            self._fail(Garbled())
            return
        body = bytes(memoryview(self._received)[body_at : self._expected])
        if self._answer is not None and not self._answer.done():
            self._answer.set_result((header, body))

    def _fail(self, error: Exception) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(error)
