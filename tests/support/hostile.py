"""Hostile servers that lie, stall, flood or break off, each on its own address."""

import asyncio
import re
import socket
import struct
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial
from typing import Self

from curtsy.demo.access_log import arrived_ns
from curtsy.fetch import Limits
from curtsy.frontier.source_policy import Description, PolicyContext, describe
from curtsy.politeness.policy import Policy
from support.engine import Engine

Behaviour = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

LIMITS = Limits(connect_seconds=10, total_seconds=30, body_bytes=1_000_000,
                wire_bytes=1_000_000, header_bytes=16_000)  # fmt: skip
"""Limits under which a hostile server ends quickly, unless it stalls."""
STALLS_FOR = 2_500
"""Milliseconds: the timeout for stalling servers, enough to connect even if the machine itself
stalls for two seconds."""
OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"


def page(body: bytes = b"page", *headers: bytes, status: bytes = b"200 OK") -> bytes:
    lines = [b"HTTP/1.1 " + status, *headers, b"Content-Length: %d" % len(body)]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def status(line: bytes, *headers: bytes) -> bytes:
    return page(b"sorry", *headers, status=line)


def encoded(name: bytes, body: bytes) -> bytes:
    return page(body, b"Content-Encoding: " + name)


def then_close(*pieces: bytes) -> Behaviour:
    async def behave(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0.01)

    return behave


def then_reset(answer: bytes) -> Behaviour:
    async def behave(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(answer)
        await asyncio.sleep(0.02)
        sock = writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()

    return behave


def without_end(head: bytes, again: bytes, pause: float = 0) -> Behaviour:
    async def behave(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(head)
        while not writer.is_closing():
            writer.write(again)
            await writer.drain()
            await asyncio.sleep(pause)

    return behave


def when_let_go(let_go: asyncio.Event) -> Behaviour:
    """Sends a page once the event is set."""

    async def behave(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await let_go.wait()
        writer.write(page())
        await writer.drain()

    return behave


async def silence(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
    await reader.read()


class Script:
    """Answers by path, in turn; the last is repeated. Other paths get a page."""

    def __init__(self, **answers: "list[Behaviour | bytes]") -> None:
        self.answers = {f"/{name.replace('_', '.')}": turns for name, turns in answers.items()}

    def answer(self, path: str, earlier: int) -> Behaviour | bytes:
        turns = self.answers.get(path, [page()])
        return turns[min(earlier, len(turns) - 1)]


class Servers:
    """Each behaviour answers every request that reaches its address."""

    def __init__(self, behaviours: Mapping[str, Behaviour | Script | bytes]) -> None:
        self._behaviours = behaviours
        self._addresses = {name: f"127.0.3.{n}" for n, name in enumerate(behaviours, 1)}
        self._servers: list[asyncio.Server] = []
        self._open: set[asyncio.StreamWriter] = set()
        self._port = 0
        self.requests: Counter[str] = Counter()
        self.connections: Counter[str] = Counter()
        self.paths: dict[str, list[str]] = {name: [] for name in behaviours}
        self.cookies: dict[str, list[tuple[str, str | None]]] = {name: [] for name in behaviours}
        self.at: dict[str, list[float]] = {name: [] for name in behaviours}
        """When each request arrived, in seconds, by the kernel: it may have waited in a buffer
        here."""

    async def __aenter__(self) -> Self:
        for name, address in self._addresses.items():
            server = await asyncio.start_server(self._serving(name), address, self._port)
            self._servers.append(server)
            self._port = self._port or server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        for server in self._servers:
            server.close()
        for writer in tuple(self._open):
            writer.transport.abort()

    def url(self, name: str, path: str = "/", scheme: str = "http") -> str:
        return f"{scheme}://{self._addresses[name]}:{self._port}{path}"

    async def are_waited_for(self, curtsy: Engine, names: Iterable[str]) -> None:
        """Gives these servers a short timeout; must run before their first visit."""
        around = PolicyContext(Policy(), 10_000, curtsy.clock.now())
        for name in names:
            host = self.url(name, "").removeprefix("http://")
            wanted = Description(host, {"timeout": STALLS_FOR})
            await curtsy.store.write(partial(describe, wanted=wanted, context=around))

    def _serving(self, name: str) -> Behaviour:
        behaviour = self._behaviours[name]

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self._open.add(writer)
            self.connections[name] += 1
            try:
                while not writer.is_closing():
                    head = await reader.readuntil(b"\r\n\r\n")
                    path = head.split(b" ")[1].decode()
                    answer = behaviour
                    if isinstance(answer, Script):
                        answer = answer.answer(path, self.paths[name].count(path))
                    self.requests[name] += 1
                    self.paths[name].append(path)
                    cookie = re.search(rb"\r\nCookie: (.*?)\r\n", head)
                    self.cookies[name].append((path, cookie[1].decode() if cookie else None))
                    self.at[name].append(arrived_ns(writer.get_extra_info("socket")) / 10**9)
                    if isinstance(answer, bytes):
                        writer.write(self._filled(answer, name, path))
                        await writer.drain()
                    else:
                        await answer(reader, writer)
                        break
            except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, OSError):
                pass
            finally:
                self._open.discard(writer)
                writer.close()

        return serve

    def _filled(self, answer: bytes, name: str, path: str) -> bytes:
        """{here} is this server; {next} is its next page."""
        here = self.url(name, "").encode()
        number = int(path.strip("/")) if path.strip("/").isdecimal() else 0
        return answer.replace(b"{here}", here).replace(b"{next}", b"/%d" % (number + 1))
