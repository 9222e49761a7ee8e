"""The parent's side of one child."""

import asyncio
from typing import Any, cast

import orjson

from curtsy.extract.frames import LARGEST_RECORD, LENGTHS

LARGEST_ANSWER = LARGEST_RECORD + 2**20
"""No child of ours says more: it is not ours any longer."""


class ChildGone(Exception):
    """The child ended before it answered, with this status; None: nobody can say."""

    def __init__(self, status: int | None) -> None:
        super().__init__(status)
        self.status = status


class Garbled(Exception):
    """What came is no answer: something in the child wrote on its channel."""


class ChildProcess(asyncio.Protocol):
    def __init__(self) -> None:
        self.number = 0
        self.pages = 0
        self._transport = cast("asyncio.Transport", None)
        self._received = bytearray()
        self._wanted = LENGTHS.size
        self._answer: asyncio.Future[tuple[dict[str, Any], bytes]] | None = None
        self._is_gone = False

    async def read(self, question: bytes) -> tuple[dict[str, Any], bytes]:
        """One page. Raises `ReaderGone`, when it is known how the child ended, or `Garbled`."""
        self.pages += 1
        self._received.clear()
        self._wanted = LENGTHS.size
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(question)
        return await self._answer

    @property
    def usable(self) -> bool:
        return not self._is_gone and not self._transport.is_closing()

    def close(self) -> None:
        """Its channel; a child that waits for a page ends by that."""
        self._transport.abort()

    def ended(self, status: int | None) -> None:
        self._is_gone = True
        self._fail(ChildGone(status))

    # What the event loop calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._received += data
        if self._wanted == LENGTHS.size and len(self._received) >= LENGTHS.size:
            self._wanted += sum(LENGTHS.unpack_from(self._received))
        if self._wanted > LARGEST_ANSWER:
            self._fail(Garbled())
        elif self._wanted > LENGTHS.size and len(self._received) >= self._wanted:
            self._told()

    def _told(self) -> None:
        header_length, _ = LENGTHS.unpack_from(self._received)
        body_at = LENGTHS.size + header_length
        try:
            header = orjson.loads(memoryview(self._received)[LENGTHS.size : body_at])
        except orjson.JSONDecodeError:
            self._fail(Garbled())
            return
        body = bytes(memoryview(self._received)[body_at : self._wanted])
        if self._answer is not None and not self._answer.done():
            self._answer.set_result((header, body))

    def _fail(self, error: Exception) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(error)
