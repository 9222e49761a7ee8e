"""Answers as values: what the site says, and in which manner it says it.

There is no `Date` header: the site has no clock, so that the same question always gets the same
bytes.
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
    """Not a byte: the connection closes."""


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    head: bytes
    """Status line and headers, without the empty line that ends them."""
    body: bytes
    etag: bytes | None = None
    delivery: Delivery = Delivery.WHOLE
    wait_ms: int = 0
    """How long the site keeps quiet before the first byte."""
    span_ms: int = 0


def answer(
    status: int, body: bytes, content_type: str = HTML, *headers: tuple[str, str], extra: int = 0
) -> Answer:
    """`extra` is how many bytes more than it sends the answer promises."""
    lines = [*headers]
    if status not in _BODYLESS:
        lines = [("Content-Type", content_type), ("Content-Length", f"{len(body) + extra}"), *lines]
    else:
        body = b""
    text = "".join(f"{name}: {value}\r\n" for name, value in lines)
    return Answer(status, f"{_status_line(status)}{text}".encode("latin-1"), body)


def tagged(body: bytes, etag: str, last_modified: str) -> Answer:
    made = answer(200, body, HTML, ("ETag", etag), ("Last-Modified", last_modified))
    return Answer(200, made.head, body, etag=etag.encode())


def truncated(body: bytes) -> Answer:
    made = answer(200, body, HTML, extra=_MISSING_BYTES)
    return Answer(200, made.head, body, delivery=Delivery.TRUNCATED)


def plain(status: int, *headers: tuple[str, str]) -> Answer:
    """A short answer that only says its status."""
    return answer(status, f"{status} {_phrase(status)}\n".encode(), PLAIN, *headers)


def not_modified(unchanged: Answer) -> Answer:
    assert unchanged.etag is not None
    return answer(304, b"", HTML, ("ETag", unchanged.etag.decode()))


def matches(etag: bytes, if_none_match: bytes) -> bool:
    """Whether the client already holds this version (weak comparison, as RFC 9110 wants)."""
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
