"""Small real servers on loopback, and fetchers that may reach them."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field

import pytest

from curtsy.fetch import Fetcher, Limits, Request, parse_allowed_proxies, parse_networks
from curtsy.model.outcome import Failed, Reply

Script = Callable[["Site", asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@dataclass
class Site:
    """A server that plays one script for each connection and remembers what it was sent."""

    script: Script
    url: str = ""
    port: int = 0
    connections: int = 0
    arrived: asyncio.Event = field(default_factory=asyncio.Event)
    requests: list[bytes] = field(default_factory=list)
    visits: set[asyncio.Task[None]] = field(default_factory=set)

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.visits.add(task)
        self.connections += 1
        self.arrived.set()
        try:
            await self.script(self, reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def heard(self, reader: asyncio.StreamReader) -> bytes:
        request = await reader.readuntil(b"\r\n\r\n")
        self.requests.append(request)
        return request

    async def left(self) -> None:
        """Wait until every connection so far has ended."""
        await asyncio.gather(*self.visits)


def answers(*answers: bytes) -> Script:
    """Each request gets the next answer, and the last one for ever."""

    async def script(
        site: Site, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        while True:
            await site.heard(reader)
            writer.write(answers[min(len(site.requests), len(answers)) - 1])
            await writer.drain()

    return script


def once(*pieces: bytes) -> Script:
    """Answer one request, each piece in a packet of its own, and hang up."""

    async def script(
        site: Site, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        await site.heard(reader)
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0.01)

    return script


Serve = Callable[..., Awaitable[Site]]


@pytest.fixture
async def serve() -> AsyncIterator[Serve]:
    running: list[tuple[asyncio.Server, Site]] = []

    async def start(
        script: Script | bytes, *, address: str = "127.0.0.1", tls: ssl.SSLContext | None = None
    ) -> Site:
        site = Site(answers(script) if isinstance(script, bytes) else script)
        server = await asyncio.start_server(site.connected, address, 0, ssl=tls)
        site.port = server.sockets[0].getsockname()[1]
        site.url = f"{'https' if tls else 'http'}://127.0.0.1:{site.port}/"
        running.append((server, site))
        return site

    yield start
    for server, site in running:
        server.close()
        await site.left()


class AskingFetcher(Fetcher):
    """Asks the same question before every request."""

    may_start: Callable[[], bool]

    async def fetch(
        self, request: Request, may_start: Callable[[], bool] | None = None
    ) -> Reply | Failed:
        return await super().fetch(request, may_start or self.may_start)


def fetcher(
    *,
    allow: str = "127.0.0.0/8",
    allow_proxies: str = "127.0.0.0/8",
    may_start: Callable[[], bool] = lambda: True,
    **limits: float,
) -> AskingFetcher:
    made = AskingFetcher(
        limits=Limits(**limits), user_agent="curtsy-test", allow=parse_networks(allow),
        allow_proxies=parse_allowed_proxies(allow_proxies),
    )  # fmt: skip
    made.may_start = may_start
    return made


async def get(request: str | Request, **settings: object) -> Reply | Failed:
    async with fetcher(**settings) as open_fetcher:
        return await open_fetcher.fetch(Request(request) if isinstance(request, str) else request)


def page(body: bytes, *headers: bytes, status: bytes = b"200 OK") -> bytes:
    lines = [b"HTTP/1.1 " + status, *headers, b"Content-Length: %d" % len(body)]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body
