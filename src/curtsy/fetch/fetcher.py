"""The fetcher: one URL, one request, one answer or one failure."""

from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from aiohttp import ClientResponse, ClientSession, ClientTimeout, DummyCookieJar
from yarl import URL

from curtsy.fetch.answer import UNREADABLE, body_of, headers_of
from curtsy.fetch.encodings import ACCEPT_ENCODING
from curtsy.fetch.failures import failure
from curtsy.fetch.guard import Network
from curtsy.fetch.sending import OnlyResponse, TrustedRequest, TrustEnded, asked
from curtsy.fetch.wire import Connector
from curtsy.model.outcome import Failed, Reply

MAX_HEADERS = 256
# An error page is read only so that its connection can be used again.
ERROR_BODY_BYTES = 64 * 1024
ACCEPT = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


@dataclass(frozen=True, slots=True)
class Request:
    url: str
    """Canonical: it is sent as it is spelled here."""
    headers: tuple[tuple[str, str], ...] = ()
    etag: str | None = None
    last_modified: str | None = None


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
        self._user_agent = user_agent
        self._allow = allow

    async def __aenter__(self) -> Self:
        limits = self._limits
        self._session = ClientSession(
            connector=Connector(allow=self._allow),
            timeout=ClientTimeout(total=limits.total_seconds, connect=limits.connect_seconds),
            headers={
                "User-Agent": self._user_agent,
                "Accept": ACCEPT,
                "Accept-Encoding": ACCEPT_ENCODING,
            },
            request_class=TrustedRequest,
            response_class=OnlyResponse,
            cookie_jar=DummyCookieJar(),
            auto_decompress=False,
            max_line_size=limits.header_bytes,
            max_field_size=limits.header_bytes,
            max_headers=MAX_HEADERS,
        )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._session.close()

    async def fetch(self, request: Request, may_start: Callable[[], bool]) -> Reply | Failed:
        """Whatever the network does comes back as a value. Raises only `TrustEnded`.

        `may_start` is asked when the connection stands and the request is about to be written.
        """
        asked.set(may_start)
        response: ClientResponse | None = None
        try:
            response = await self._session.get(
                URL(request.url, encoded=True),
                headers=_headers(request),
                allow_redirects=False,
            )
            return await self._reply(request, response)
        except TrustEnded:
            raise
        except Exception as error:
            return failure(error, host=request.url.partition("://")[2].partition("/")[0])
        finally:
            # Already true where the whole body was read, and the connection can be used again.
            if response is not None and not response.closed:
                response.close()

    async def _reply(self, request: Request, response: ClientResponse) -> Reply:
        limits = self._limits
        headers = headers_of(response, limits.header_bytes)
        encoding = headers.get("content-encoding")
        if response.status // 100 == 2:
            body, wire = await body_of(response, encoding, limits.wire_bytes, limits.body_bytes)
        else:
            body, wire = await _error_body(response, encoding)
        return Reply(response.status, request.url, headers, body, wire)


async def _error_body(response: ClientResponse, encoding: str | None) -> tuple[bytes, int]:
    """The status has said what matters: trouble with what follows must not hide it."""
    try:
        return await body_of(response, encoding, ERROR_BODY_BYTES, ERROR_BODY_BYTES)
    except UNREADABLE:
        return b"", 0


def _headers(request: Request) -> list[tuple[str, str]] | None:
    if not (request.headers or request.etag or request.last_modified):
        return None
    headers = list(request.headers)
    if request.etag:
        headers.append(("If-None-Match", request.etag))
    if request.last_modified:
        headers.append(("If-Modified-Since", request.last_modified))
    return headers
