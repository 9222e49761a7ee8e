"""The bytes to and from a proxy while it opens a connection to a host: plain, or within TLS."""

import asyncio
import socket
from contextlib import suppress
from typing import Protocol, cast

from curtsy.fetch.fetch_errors import ProxyFailed

MOST_UNREAD_BYTES = 64 * 1024


class ProxyLink(Protocol):
    async def send(self, data: bytes) -> None: ...

    async def receive(self, most: int) -> bytes:
        """Returns some bytes, at most so many; none once the proxy has closed the connection."""
        ...


class SocketLink:
    def __init__(self, sock: socket.socket) -> None:
        self.sock, self._loop = sock, asyncio.get_running_loop()

    async def send(self, data: bytes) -> None:
        await self._loop.sock_sendall(self.sock, data)

    async def receive(self, most: int) -> bytes:
        return await self._loop.sock_recv(self.sock, most)

    def close(self) -> None:
        self.sock.close()


class TlsLink(asyncio.Protocol):
    """The protocol of a TLS connection to a proxy, until TLS with the host starts within it."""

    def __init__(self) -> None:
        self.transport = cast("asyncio.Transport", None)
        self._unread = b""
        self._ended = False
        self._error: Exception | None = None
        self._news = asyncio.Event()

    async def send(self, data: bytes) -> None:
        self.transport.write(data)

    async def receive(self, most: int) -> bytes:
        while not self._unread and not self._ended:
            self._news.clear()
            await self._news.wait()
        if self._error is not None:
            raise self._error
        received, self._unread = self._unread[:most], self._unread[most:]
        return received

    def close(self) -> None:
        self.transport.abort()

    # Called by the event loop.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._unread += data
        if len(self._unread) > MOST_UNREAD_BYTES:
            with suppress(RuntimeError):
                self.transport.pause_reading()  # whoever reads refuses so much anyway
        self._news.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self._ended, self._error = True, exc
        self._news.set()


async def exactly(link: ProxyLink, count: int) -> bytes:
    """Receives so many bytes and no more."""
    received = b""
    while len(received) < count:
        piece = await link.receive(count - len(received))
        if not piece:
            raise ProxyFailed("closed the connection")
        received += piece
    return received
