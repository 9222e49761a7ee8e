"""HTTP responses as values, and how the site delivers them.

Responses have no `Date` header: the same request always gets the same bytes.
"""

from dataclasses import dataclass
from enum import Enum, auto
from functools import lru_cache
from http import HTTPStatus

HTML = "text/html; charset=utf-8"
PLAIN = "text/plain; charset=utf-8"

_BODYLESS = (204, 304)
_MISSING_BYTES = 1_000


class Delivery(Enum):
    WHOLE = auto()
    DRIP = auto()
    """A byte at a time, spread over the answer's `span_ms`."""
    TRUNCATED = auto()
    """Fewer bytes than promised, then the connection closes."""
    DROPPED = auto()
    """The connection closes without a response."""


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    head: bytes
    """Status line and headers, without the empty line that ends them."""
    body: bytes
    etag: bytes | None = None
    delivery: Delivery = Delivery.WHOLE
    wait_ms: int = 0
    """Milliseconds before the first byte."""
    span_ms: int = 0


def answer(
    status: int, body: bytes, content_type: str = HTML, *headers: tuple[str, str], extra: int = 0
) -> Answer:
    """Builds a response; `extra` is how much Content-Length exceeds the body."""
    lines = [*headers]
    if status not in _BODYLESS:
        lines = [("Content-Type", content_type), ("Content-Length", f"{len(body) + extra}"), *lines]
    else:
        body = b""
    text = "".join(f"{name}: {value}\r\n" for name, value in lines)
    return Answer(status, f"{_status_line(status)}{text}".encode("latin-1"), body)


def tagged(body: bytes, etag: str, last_modified: str) -> Answer:
    response = answer(200, body, HTML, ("ETag", etag), ("Last-Modified", last_modified))
    return Answer(200, response.head, body, etag=etag.encode())


def truncated(body: bytes) -> Answer:
    response = answer(200, body, HTML, extra=_MISSING_BYTES)
    return Answer(200, response.head, body, delivery=Delivery.TRUNCATED)


def plain(status: int, *headers: tuple[str, str]) -> Answer:
    """A short text response with the status and its phrase."""
    return answer(status, f"{status} {_phrase(status)}\n".encode(), PLAIN, *headers)


def not_modified(unchanged: Answer) -> Answer:
    assert unchanged.etag is not None
    return answer(304, b"", HTML, ("ETag", unchanged.etag.decode()))


def matches(etag: bytes, if_none_match: bytes) -> bool:
    """True if the client already has this version (weak comparison, as RFC 9110 requires)."""
    if if_none_match.strip() == b"*":
        return True
    return any(tag.strip().removeprefix(b"W/") == etag for tag in if_none_match.split(b","))


@lru_cache(maxsize=1_000)
def _status_line(status: int) -> str:
    return f"HTTP/1.1 {status} {_phrase(status)}\r\nServer: practice\r\n"


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Unnamed"
