"""Parses the head of an HTTP/1.1 request into the few facts that the site needs. Pure."""

import re
from dataclasses import dataclass
from functools import lru_cache

LARGEST_HEAD = 64 * 1024

_REQUEST_LINE = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+) ([\x21-\x7e]+) HTTP/(\d)\.(\d)")
_HEADER_LINE = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\0\r\n]*?)[ \t]*")
_ABSOLUTE = re.compile(r"[Hh][Tt][Tt][Pp]://[^/?#]+")


class BadHead(ValueError):
    """A malformed request; the site responds with `status` and closes the connection."""

    def __init__(self, status: int) -> None:
        self.status = status
        super().__init__(f"answered {status}")


@dataclass(frozen=True, slots=True)
class Headers:
    has_host: bool
    close: bool
    body_length: int
    if_none_match: bytes | None


@dataclass(frozen=True, slots=True)
class Request:
    method: bytes
    target: str
    """Path and query, starting with a slash."""
    keep_alive: bool
    body_length: int
    if_none_match: bytes | None


def parse(head: bytes) -> Request:
    """Parses a head without its final empty line. Raises `BadHead`."""
    line, _, rest = head.partition(b"\r\n")
    found = _REQUEST_LINE.fullmatch(line)
    if found is None:
        raise BadHead(400)
    method, target, major, minor = found.groups()
    if major != b"1":
        raise BadHead(505)
    headers = _headers(rest)
    if minor != b"0" and not headers.has_host:
        raise BadHead(400)
    keep_alive = minor != b"0" and not headers.close
    return Request(method, _target(target), keep_alive, headers.body_length, headers.if_none_match)


def _target(raw: bytes) -> str:
    text = raw.decode("ascii")
    if text[0] == "/":
        return text
    absolute = _ABSOLUTE.match(text)
    if absolute is None:
        raise BadHead(400)
    rest = text[absolute.end() :]
    return rest if rest[:1] == "/" else f"/{rest}"


@lru_cache(maxsize=256)
def _headers(block: bytes) -> Headers:
    """Cached, because a client sends the same headers with every request."""
    values: dict[bytes, list[bytes]] = {}
    for line in block.split(b"\r\n") if block else ():
        found = _HEADER_LINE.fullmatch(line)
        if found is None:
            raise BadHead(400)
        values.setdefault(found[1].lower(), []).append(found[2])
    if b"transfer-encoding" in values:
        raise BadHead(411)
    if len(values.get(b"host", ())) > 1:
        raise BadHead(400)
    tags = values.get(b"if-none-match")
    options = b",".join(values.get(b"connection", ())).lower().split(b",")
    return Headers(
        has_host=b"host" in values,
        close=any(option.strip() == b"close" for option in options),
        body_length=_length(values.get(b"content-length", [b"0"])),
        if_none_match=b",".join(tags) if tags else None,
    )


def _length(given: list[bytes]) -> int:
    if len(set(given)) != 1 or not given[0].isdigit() or len(given[0]) > 15:
        raise BadHead(400)
    return int(given[0])
