"""Small real proxies on loopback, which write down what they were asked to connect to."""

import asyncio
import socket
import ssl
from base64 import b64encode
from contextlib import suppress
from ipaddress import ip_address
from types import TracebackType
from typing import Self

LOGIN = ("us:er", "p@ss/wörd")
"""A user name and a password for SOCKS, with letters that URLs escape."""
ESCAPED = "us%3Aer:p%40ss%2Fw%C3%B6rd"


class RelayProxy:
    """`kind` is socks5, or http for CONNECT; `tls` makes an https proxy of the latter."""

    def __init__(
        self, kind: str = "socks5", *, login: bool = False, tls: ssl.SSLContext | None = None,
        address: str = "127.0.0.1", port: int = 0, refuses: int = 0, silent: bool = False,
    ) -> None:  # fmt: skip
        """`refuses`: the reply of SOCKS, or the status of CONNECT, to every request; `silent`: it
        accepts connections and says nothing."""
        self._kind, self._login, self._tls, self._address = kind, login, tls, address
        self._refuses, self._silent, self.port = refuses, silent, port
        self.asked: list[str] = []
        """host:port of each request; of SOCKS, with `name ` before what is no address."""
        self.connections = 0
        self._open: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(
            self._serve, self._address, self.port, ssl=self._tls
        )
        self.port = int(self._server.sockets[0].getsockname()[1])
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._server.close()
        for task in tuple(self._open):
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    @property
    def url(self) -> str:
        scheme = "https" if self._tls else self._kind
        login = f"{ESCAPED if self._kind == 'socks5' else 'user:hush'}@" if self._login else ""
        return f"{scheme}://{login}{self._address}:{self.port}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        task.add_done_callback(self._open.discard)
        self.connections += 1
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            if self._silent:
                await reader.read()
            elif self._kind == "socks5":
                await self._socks(reader, writer)
            else:
                await self._connect(reader, writer)
        writer.transport.abort()

    async def _socks(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        version, count = await reader.readexactly(2)
        ways = await reader.readexactly(count)
        assert version == 5
        way = 2 if self._login else 0
        writer.write(bytes([5, way if way in ways else 255]))
        if way not in ways or (self._login and not await _may_pass(reader, writer)):
            await writer.drain()
            return
        _version, command, _reserved, kind = await reader.readexactly(4)
        assert command == 1
        host = await _target(reader, kind)
        port = int.from_bytes(await reader.readexactly(2), "big")
        self.asked.append(f"{host}:{port}")
        writer.write(bytes([5, self._refuses, 0, 1, 0, 0, 0, 0, 0, 0]))
        await writer.drain()
        if not self._refuses:
            await _relay(host, port, reader, writer)

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        method, target, _version = head.split("\r\n")[0].split(" ")
        self.asked.append(target)
        secret = b64encode(b"user:hush").decode()
        if self._login and f"\r\nProxy-Authorization: Basic {secret}\r\n" not in head:
            writer.write(b"HTTP/1.1 407 Login\r\nContent-Length: 0\r\n\r\n")
        elif self._refuses:
            writer.write(b"HTTP/1.1 %d No\r\nContent-Length: 0\r\n\r\n" % self._refuses)
        elif method == "CONNECT":
            writer.write(b"HTTP/1.1 200 Yes\r\n\r\n")
            host, _, port = target.rpartition(":")
            await _relay(host, int(port), reader, writer)
        else:
            place = target.partition("://")[2].partition("/")[0]
            host, _, port = place.rpartition(":")
            path = target.partition(place)[2]
            begin = head.replace(target, path, 1).encode()
            await _relay(host, int(port), reader, writer, begin)
        await writer.drain()


async def _may_pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    version, size = await reader.readexactly(2)
    user = await reader.readexactly(size)
    password = await reader.readexactly((await reader.readexactly(1))[0])
    right = version == 1 and (user.decode(), password.decode()) == LOGIN
    writer.write(bytes([1, 0 if right else 1]))
    return right


async def _target(reader: asyncio.StreamReader, kind: int) -> str:
    if kind == 3:
        size = (await reader.readexactly(1))[0]
        return f"name {(await reader.readexactly(size)).decode()}"
    return str(ip_address(await reader.readexactly({1: 4, 4: 16}[kind])))


async def _relay(
    host: str, port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter,
    begin: bytes = b"",
) -> None:  # fmt: skip
    far_reader, far_writer = await asyncio.open_connection(host, port)
    far_writer.write(begin)
    ways = [asyncio.create_task(_pass_on(reader, far_writer)),
            asyncio.create_task(_pass_on(far_reader, writer))]  # fmt: skip
    try:
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for way in ways:
            way.cancel()
        far_writer.transport.abort()


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()


def closed_port(address: str = "127.0.0.1") -> int:
    """A port that nobody listens on."""
    with socket.socket() as taken:
        taken.bind((address, 0))
        return int(taken.getsockname()[1])
