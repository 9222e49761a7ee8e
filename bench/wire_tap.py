"""Counts what a client sends to a PostgreSQL server, whatever its driver: a proxy between the two.

It reads the messages of the protocol's version 3 from the client's bytes and lets the server's
bytes through unread.
"""

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Self
from urllib.parse import urlsplit

from bench.databases import free_port

EXECUTES = b"EQ"
"""Execute, and Query, which runs a text without preparing it."""
_UNTYPED = 8
"""Bytes of the first messages before their text: a length and a code, and no type."""
_STARTS = 196_608
_READ_BYTES = 64 * 1024


@dataclass(slots=True)
class Sent:
    """Instants of `CLOCK_MONOTONIC` in nanoseconds."""

    statements: list[int] = field(default_factory=list)
    turns: list[int] = field(default_factory=list)
    """Times that the client spoke again after the server: its round trips."""


class WireTap:
    """`with WireTap(url) as tap:` listens in a thread; `tap.url` leads through it to the server."""

    def __init__(self, url: str) -> None:
        self._server = urlsplit(url)
        self._port = free_port()
        self.url = self._server._replace(
            netloc=f"{self._server.username}@127.0.0.1:{self._port}"
        ).geturl()
        self.sent = Sent()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="wire-tap")

    def __enter__(self) -> Self:
        self._thread.start()
        starting = asyncio.start_server(self._accept, "127.0.0.1", self._port)
        self._listening = asyncio.run_coroutine_threadsafe(starting, self._loop).result()
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _close(self) -> None:
        self._listening.close()
        ours = asyncio.current_task()
        rest = [task for task in asyncio.all_tasks() if task is not ours]
        for task in rest:
            task.cancel()
        await asyncio.gather(*rest, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        upstream, server = await asyncio.open_connection(self._server.hostname, self._server.port)
        messages = _Messages(self.sent)
        with contextlib.suppress(ConnectionError, asyncio.CancelledError):
            async with asyncio.TaskGroup() as both:
                both.create_task(_copy(reader, server, messages.from_client))
                both.create_task(_copy(upstream, writer, messages.from_server))
        for end in (writer, server):
            end.close()


async def _copy(
    source: asyncio.StreamReader, target: asyncio.StreamWriter, look: Callable[[bytes], None]
) -> None:
    while data := await source.read(_READ_BYTES):
        look(data)
        target.write(data)
        await target.drain()
    target.close()


class _Messages:
    """The messages of one connection."""

    def __init__(self, sent: Sent) -> None:
        self._sent = sent
        self._rest = bytearray()
        self._has_started = False
        self._server_spoke = True

    def from_server(self, _data: bytes) -> None:
        self._server_spoke = True

    def from_client(self, data: bytes) -> None:
        now = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        if self._server_spoke and self._has_started:
            self._sent.turns.append(now)
        self._server_spoke = False
        self._rest += data
        while (size := self._size()) is not None and len(self._rest) >= size:
            if not self._has_started:
                self._has_started = int.from_bytes(self._rest[4:_UNTYPED]) == _STARTS
            elif self._rest[0] in EXECUTES:
                self._sent.statements.append(now)
            del self._rest[:size]

    def _size(self) -> int | None:
        """The size of the next message; None: its length has not arrived yet."""
        start = 1 if self._has_started else 0
        if len(self._rest) < start + 4:
            return None
        return start + int.from_bytes(self._rest[start : start + 4])
