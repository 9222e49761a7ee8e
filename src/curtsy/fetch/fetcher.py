"""The fetcher: one call sends one request and returns one reply or one failure."""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Self

from curtsy.fetch.connection import Connection
from curtsy.fetch.connection_pool import ConnectionPool
from curtsy.fetch.connector import Connector
from curtsy.fetch.encodings import ACCEPT_ENCODING, Allowance, TooCostly, decode, identity
from curtsy.fetch.failures import failure
from curtsy.fetch.fetch_errors import (
    PROXY_AUTH_REQUIRED,
    DecodedTooLate,
    FetchError,
    NoConnection,
    PortRefused,
    ProxiesFailed,
    ProxyFailed,
    TooLarge,
    may_be_the_host,
)
from curtsy.fetch.guard import BLOCKED_PORTS, Network
from curtsy.fetch.proxy import AllowedProxies
from curtsy.fetch.proxy_rotation import ProxyRotation
from curtsy.fetch.request import Origin, Request, encode, host_of
from curtsy.fetch.response_parser import Caps, ResponseParser
from curtsy.fetch.tunnel import proxy_refusal
from curtsy.model.outcome import Failed, Reply

ACCEPT = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
DECODE_ON_LOOP_BYTES, DECODED_ON_LOOP_BYTES = 64 * 2**10, 2**20
DECODE_ON_LOOP_SECONDS = 0.005
"""A body is decoded on the event loop while it stays within these; a thread decodes all others."""
# A pool of its own, so that hostile bodies delay only other large compressed bodies.
DECODERS = min(4, os.cpu_count() or 1)


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

    @property
    def decode_seconds(self) -> float:
        """Processor time to decode a body: ten times what an ordinary one of this size needs."""
        return max(0.8, 0.8 * self.body_bytes / (10 * 2**20))


class Fetcher:
    """Sends at most one request per call, follows no redirects, stores no cookies."""

    def __init__(
        self,
        *,
        limits: Limits,
        user_agent: str,
        allow: tuple[Network, ...],
        allow_proxies: tuple[AllowedProxies, ...] = (),
    ) -> None:
        """`allow` and `allow_proxies`: hosts and proxies that may have addresses that are not
        public."""
        self._limits = limits
        self._caps = Caps(limits.header_bytes, limits.wire_bytes)
        self._allow, self._allow_proxies = allow, allow_proxies
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
        self._rotation = ProxyRotation(now=asyncio.get_running_loop().time)
        self._connector = Connector(allow=self._allow, allow_proxies=self._allow_proxies)
        self._decoders = ThreadPoolExecutor(DECODERS, thread_name_prefix="decode")
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._pool.close()
        self._connector.close()
        self._decoders.shutdown(wait=False, cancel_futures=True)

    async def fetch(
        self, request: Request, may_start: Callable[[], bool],
        mark: Callable[[], Awaitable[bool]] | None = None,
    ) -> Reply | Failed:  # fmt: skip
        """Returns network errors as values. Raises only `TrustEnded`.

        `may_start` is called when the connection is ready and the request is about to be written.
        So is `mark` before it, for a request that must not be sent twice; its connection is new,
        since nobody knows whether a request is read that crosses the end of an old one.
        """
        parser = ResponseParser(self._caps)
        try:
            send = self._send_through_one if request.proxies else self._send
            until = await send(request, may_start, parser, mark)
            wire = parser.body
            return Reply(
                parser.status,
                request.url,
                parser.headers,
                await self._decoded(parser.headers.get("content-encoding", ""), wire, until),
                len(wire),
                parser.answered_ms,
            )
        except TrustEnded:
            raise
        except Exception as error:
            status_suffices = parser.is_error_status or (request.only_status and parser.status)
            if status_suffices and not isinstance(error, ProxyFailed):
                head = parser.status, request.url, parser.headers
                return Reply(*head, b"", 0, parser.answered_ms)
            return failure(error, host=host_of(request.url))

    async def _send_through_one(
        self, request: Request, may_start: Callable[[], bool], parser: ResponseParser,
        mark: Callable[[], Awaitable[bool]] | None,
    ) -> float:  # fmt: skip
        """Sends the request through the next proxy that does not rest. A proxy that cannot be
        reached, or opens no connection, rests, and the one after it is tried: nothing has been
        sent by then."""
        loop, host = asyncio.get_running_loop(), host_of(request.url)
        ends_at = loop.time() + self._limits.connect_seconds
        failures: list[FetchError] = []
        for text in self._rotation.ready(request.proxies, host):
            try:
                until = await self._send(replace(request, proxy=text), may_start, parser, mark)
            except (ProxyFailed, NoConnection) as failed:
                if failed.through is None:
                    raise
                self._rotation.failed(text, host if may_be_the_host(failed) else None)
                failures.append(failed)
                if parser.sent_at or loop.time() >= ends_at:
                    break
            else:
                self._rotation.worked(text, host)
                return until
        back_in = self._rotation.back_in(request.proxies, host)
        # Failures that take longer than the rests always leave a proxy ready.
        none_connects = back_in or self._rotation.host_fails(request.proxies, host)
        if failures and none_connects and all(map(may_be_the_host, failures)):
            raise failures[-1]  # it is the host
        raise ProxiesFailed.after(failures, back_in=back_in)

    async def _send(
        self, request: Request, may_start: Callable[[], bool], parser: ResponseParser,
        mark: Callable[[], Awaitable[bool]] | None,
    ) -> float:  # fmt: skip
        """Returns the end of the attempt's time, by the loop's clock."""
        origin, wire = encode(request, self._default_headers)
        if origin.port in BLOCKED_PORTS:
            raise PortRefused
        seconds, began = self._limits.total_seconds, asyncio.get_running_loop().time()
        if request.timeout_ms is not None:
            seconds = request.timeout_ms / 1000
        connected_by = began + min(seconds, self._limits.connect_seconds)
        if origin.forwarded:
            await self._connector.check(origin, connected_by)
        connection = self._pool.acquire(origin) if mark is None else None
        if connection is None:
            connection = await self._connector.connect(origin, connected_by)
        if mark is not None:
            await _mark(mark, connection, until=began + seconds)
        if not may_start():
            connection.close()
            raise TrustEnded
        await connection.send(wire, parser, until=began + seconds)
        self._pool.release(connection)
        if (error := _error_in(parser, origin)) is not None:
            error.through = origin.proxy
            raise error
        return began + seconds

    async def _decoded(self, encoding: str, wire: bytes, until: float) -> bytes:
        """Returns the decoded body, by `until`. Small ones are decoded here at once."""
        cap = self._limits.body_bytes
        if not encoding:
            return identity(wire, cap)
        if len(wire) <= DECODE_ON_LOOP_BYTES:
            with suppress(TooLarge, TooCostly):
                small = min(cap, DECODED_ON_LOOP_BYTES)
                return decode(encoding, wire, small, Allowance(DECODE_ON_LOOP_SECONDS))
        loop = asyncio.get_running_loop()
        ends_at = time.monotonic() + until - loop.time()
        try:
            async with asyncio.timeout_at(until):
                return await loop.run_in_executor(
                    self._decoders, self._decode, encoding, wire, ends_at
                )
        except TimeoutError:
            raise DecodedTooLate from None

    def _decode(self, encoding: str, wire: bytes, ends_at: float) -> bytes:
        """Runs in a thread."""
        allowance = Allowance(self._limits.decode_seconds, until=ends_at)
        return decode(encoding, wire, self._limits.body_bytes, allowance)


async def _mark(
    mark: Callable[[], Awaitable[bool]], connection: Connection, *, until: float
) -> None:
    """Awaits the mark, and raises unless the request may be sent now."""
    ready = False
    try:
        ready = await mark()
    finally:
        if not ready:
            connection.close()
    if not ready:
        raise TrustEnded
    if not connection.usable or asyncio.get_running_loop().time() >= until:
        connection.close()
        raise NoConnection("it ended before the request was sent")


def _error_in(parser: ResponseParser, origin: Origin) -> FetchError | None:
    """Returns the response's error. A 407 comes from the proxy, except in a tunnel, where only the
    host answers."""
    if origin.forwarded and parser.status == PROXY_AUTH_REQUIRED:
        return proxy_refusal(parser.status)
    return parser.error
