"""The fetcher: one URL, one request, one answer or one failure."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from curtsy.fetch.connection_pool import ConnectionPool
from curtsy.fetch.connector import Connector
from curtsy.fetch.encodings import ACCEPT_ENCODING, decoded
from curtsy.fetch.errors import FetchError, ProxyFailed
from curtsy.fetch.failures import failure
from curtsy.fetch.guard import Network
from curtsy.fetch.request import Origin, Request, spelled
from curtsy.fetch.response_parser import Caps, ResponseParser
from curtsy.fetch.tunnel import WANTS_LOGIN, refused
from curtsy.model.outcome import Failed, Reply

ACCEPT = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
UNPACK_IN_THREAD_FROM = 64 * 1024


class TrustEnded(Exception):
    """Nothing was sent: when the connection stood ready, the right to use it was gone."""


@dataclass(frozen=True, slots=True)
class Limits:
    connect_seconds: float = 10
    """For the name, the connection and TLS together."""
    total_seconds: float = 30
    """For the whole attempt, up to the last byte of the body."""
    body_bytes: int = 10 * 2**20
    wire_bytes: int = 10 * 2**20
    """The body as it is transferred: compressed, without its chunks' frames."""
    header_bytes: int = 64 * 1024


class Fetcher:
    """Sends at most one request a call, follows nothing, keeps no cookies."""

    def __init__(
        self,
        *,
        limits: Limits,
        user_agent: str,
        allow: tuple[Network, ...],
    ) -> None:
        self._limits = limits
        self._caps = Caps(limits.header_bytes, limits.wire_bytes)
        self._allow = allow
        standing = {
            "User-Agent": user_agent,
            "Accept": ACCEPT,
            "Accept-Encoding": ACCEPT_ENCODING,
        }
        self._standing = "".join(f"{name}: {value}\r\n" for name, value in standing.items())

    async def __aenter__(self) -> Self:
        self._kept = ConnectionPool()
        self._connecting = Connector(allow=self._allow)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._kept.close()
        self._connecting.close()

    async def fetch(self, request: Request, may_start: Callable[[], bool]) -> Reply | Failed:
        """Whatever the network does comes back as a value. Raises only `TrustEnded`.

        `may_start` is asked when the connection stands and the request is about to be written.
        """
        incoming = ResponseParser(self._caps)
        try:
            await self._ask(request, may_start, incoming)
            return Reply(
                incoming.status,
                request.url,
                incoming.headers,
                await self._plain(incoming),
                len(incoming.body),
                incoming.answered_ms,
            )
        except TrustEnded:
            raise
        except Exception as error:
            told_enough = incoming.is_error or (request.only_status and incoming.status)
            if told_enough and not isinstance(error, ProxyFailed):
                told = incoming.status, request.url, incoming.headers
                return Reply(*told, b"", 0, incoming.answered_ms)
            return failure(error, host=request.url.partition("://")[2].partition("/")[0])

    async def _ask(
        self, request: Request, may_start: Callable[[], bool], incoming: ResponseParser
    ) -> None:
        origin, wire = spelled(request, self._standing)
        seconds, began = self._limits.total_seconds, asyncio.get_running_loop().time()
        if request.timeout_ms is not None:
            seconds = request.timeout_ms / 1000
        connected_by = began + min(seconds, self._limits.connect_seconds)
        if origin.proxy is not None:
            await self._connecting.check(origin, connected_by)
        connection = self._kept.take(origin) or await self._connecting.connect(origin, connected_by)
        if not may_start():
            connection.close()
            raise TrustEnded
        await connection.ask(wire, incoming, until=began + seconds)
        self._kept.keep(connection)
        if (trouble := _trouble(incoming, origin)) is not None:
            trouble.through = origin.proxy
            raise trouble

    async def _plain(self, incoming: ResponseParser) -> bytes:
        """The body without its Content-Encoding; a large one is unpacked off the loop."""
        encoding, wire = incoming.headers.get("content-encoding", ""), incoming.body
        cap = self._limits.body_bytes
        if encoding and len(wire) > UNPACK_IN_THREAD_FROM:
            return await asyncio.to_thread(decoded, encoding, wire, cap)
        return decoded(encoding, wire, cap)


def _trouble(incoming: ResponseParser, origin: Origin) -> FetchError | None:
    """A 407 is the proxy's own word, but in a tunnel, where only the host speaks."""
    if origin.proxy is not None and not origin.secure and incoming.status == WANTS_LOGIN:
        return refused(incoming.status)
    return incoming.trouble
