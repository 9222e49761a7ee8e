"""The fetcher: one call sends one request and returns one reply or one failure."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from curtsy.fetch.connection_pool import ConnectionPool
from curtsy.fetch.connector import Connector
from curtsy.fetch.encodings import ACCEPT_ENCODING, decode
from curtsy.fetch.failures import failure
from curtsy.fetch.fetch_errors import FetchError, ProxyFailed
from curtsy.fetch.guard import Network
from curtsy.fetch.request import Origin, Request, encode
from curtsy.fetch.response_parser import Caps, ResponseParser
from curtsy.fetch.tunnel import PROXY_AUTH_REQUIRED, proxy_refusal
from curtsy.model.outcome import Failed, Reply

ACCEPT = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
UNPACK_IN_THREAD_FROM = 64 * 1024


class TrustEnded(Exception):
    """Nothing was sent: `may_start` refused once the connection was ready."""


@dataclass(frozen=True, slots=True)
class Limits:
    connect_seconds: float = 10
    """For the name, the connection and TLS together."""
    total_seconds: float = 30
    """For the whole attempt, up to the last byte of the body."""
    body_bytes: int = 10 * 2**20
    wire_bytes: int = 10 * 2**20
    """The body as transferred: compressed, without the framing of chunks."""
    header_bytes: int = 64 * 1024


class Fetcher:
    """Sends at most one request per call, follows no redirects, stores no cookies."""

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
        default_headers = {
            "User-Agent": user_agent,
            "Accept": ACCEPT,
            "Accept-Encoding": ACCEPT_ENCODING,
        }
        self._default_headers = "".join(
            f"{name}: {value}\r\n" for name, value in default_headers.items()
        )

    async def __aenter__(self) -> Self:
        self._pool = ConnectionPool()
        self._connector = Connector(allow=self._allow)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._pool.close()
        self._connector.close()

    async def fetch(self, request: Request, may_start: Callable[[], bool]) -> Reply | Failed:
        """Returns network errors as values. Raises only `TrustEnded`.

        `may_start` is called when the connection is ready and the request is about to be written.
        """
        parser = ResponseParser(self._caps)
        try:
            await self._send(request, may_start, parser)
            return Reply(
                parser.status,
                request.url,
                parser.headers,
                await self._decoded_body(parser),
                len(parser.body),
                parser.answered_ms,
            )
        except TrustEnded:
            raise
        except Exception as error:
            status_suffices = parser.is_error_status or (request.only_status and parser.status)
            if status_suffices and not isinstance(error, ProxyFailed):
                head = parser.status, request.url, parser.headers
                return Reply(*head, b"", 0, parser.answered_ms)
            return failure(error, host=request.url.partition("://")[2].partition("/")[0])

    async def _send(
        self, request: Request, may_start: Callable[[], bool], parser: ResponseParser
    ) -> None:
        origin, wire = encode(request, self._default_headers)
        seconds, began = self._limits.total_seconds, asyncio.get_running_loop().time()
        if request.timeout_ms is not None:
            seconds = request.timeout_ms / 1000
        connected_by = began + min(seconds, self._limits.connect_seconds)
        if origin.proxy is not None:
            await self._connector.check(origin, connected_by)
        connection = self._pool.acquire(origin)
        if connection is None:
            connection = await self._connector.connect(origin, connected_by)
        if not may_start():
            connection.close()
            raise TrustEnded
        await connection.send(wire, parser, until=began + seconds)
        self._pool.release(connection)
        if (error := _error_in(parser, origin)) is not None:
            error.through = origin.proxy
            raise error

    async def _decoded_body(self, parser: ResponseParser) -> bytes:
        """Returns the decoded body; large ones are decoded in a thread."""
        encoding, wire = parser.headers.get("content-encoding", ""), parser.body
        cap = self._limits.body_bytes
        if encoding and len(wire) > UNPACK_IN_THREAD_FROM:
            return await asyncio.to_thread(decode, encoding, wire, cap)
        return decode(encoding, wire, cap)


def _error_in(parser: ResponseParser, origin: Origin) -> FetchError | None:
    """Returns the response's error. A 407 comes from the proxy, except in a tunnel, where only the
    host answers."""
    if origin.proxy is not None and not origin.secure and parser.status == PROXY_AUTH_REQUIRED:
        return proxy_refusal(parser.status)
    return parser.error
