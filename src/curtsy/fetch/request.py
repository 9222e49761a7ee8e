"""A request: where it goes and how it is spelled on the wire."""

import re
from dataclasses import dataclass

# A canonical URL and nothing else: no credentials, no fragment, nothing that could end a line.
_CANONICAL = re.compile(
    r"(https?)://(\[[0-9a-f:.]+\]|[^\s/?#@:\[\]\x00-\x20\x7f-\U0010ffff]+)(?::([0-9]{1,5}))?"
    r"(/[!-\"$-~]*)"
)
_PORTS = {"http": 80, "https": 443}
_ENDS_A_LINE = re.compile(r"[\r\n\0]")


@dataclass(frozen=True, slots=True)
class Request:
    url: str
    """Canonical: it is sent as it is spelled here."""
    headers: tuple[tuple[str, str], ...] = ()
    etag: str | None = None
    last_modified: str | None = None
    body: bytes | None = None
    """What is posted; None: nothing is, it is a GET."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a connection leads."""

    secure: bool
    host: str
    port: int


def spelled(request: Request, standing: str) -> tuple[Origin, bytes]:
    """Where to, and the bytes; `standing` are the header lines that every request carries."""
    parts = _CANONICAL.fullmatch(request.url)
    if parts is None:
        raise ValueError(f"not a URL that can be asked: {request.url!r}")
    scheme, host, port, target = parts.groups()
    origin = Origin(scheme == "https", host.strip("[]"), int(port) if port else _PORTS[scheme])
    authority = f"{host}:{port}" if port else host
    method, body = ("GET", b"") if request.body is None else ("POST", request.body)
    lines = (
        f"{method} {target} HTTP/1.1\r\nHost: {authority}\r\n{standing}{_own_lines(request)}\r\n"
    )
    return origin, lines.encode() + body


def _own_lines(request: Request) -> str:
    if not (request.headers or request.etag or request.last_modified or request.body):
        return ""
    headers = list(request.headers)
    if request.body is not None:
        headers.append(("Content-Length", str(len(request.body))))
    if request.etag:
        headers.append(("If-None-Match", request.etag))
    if request.last_modified:
        headers.append(("If-Modified-Since", request.last_modified))
    for name, value in headers:
        if _ENDS_A_LINE.search(name) or _ENDS_A_LINE.search(value):
            raise ValueError(f"a header that would end its line: {name!r}: {value!r}")
    return "".join(f"{name}: {value}\r\n" for name, value in headers)
