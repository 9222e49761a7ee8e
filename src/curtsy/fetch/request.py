"""A request: where it goes and how it is spelled on the wire."""

import re
from dataclasses import dataclass, field

from curtsy.fetch.proxy import Proxy, parse_proxy

# A canonical URL and nothing else: no credentials, no fragment, nothing that could end a line.
_CANONICAL = re.compile(
    r"(https?)://(\[[0-9a-f:.]+\]|[^\s/?#@:\[\]\x00-\x20\x7f-\U0010ffff]+)(?::([0-9]{1,5}))?"
    r"(/[!-\"$-~]*)"
)
_PORTS = {"http": 80, "https": 443}
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_ENDS_A_LINE = re.compile(r"[\r\n\0]")
_OURS = frozenset({
    "host", "connection", "keep-alive", "upgrade", "te", "trailer", "expect",
    "content-length", "transfer-encoding", "accept-encoding",
    "proxy-connection", "proxy-authorization",
})  # fmt: skip
"""How the answer is framed and who is asked is not a caller's to say."""


@dataclass(frozen=True, slots=True)
class Request:
    url: str
    """Canonical: it is sent as it is spelled here."""
    headers: tuple[tuple[str, str], ...] = ()
    etag: str | None = None
    last_modified: str | None = None
    body: bytes | None = None
    """What is posted; None: nothing is, it is a GET."""
    user_agent: str | None = None
    """Instead of the usual one; `headers` may still name another."""
    timeout_ms: int | None = None
    """For the whole attempt, instead of the usual limit."""
    proxy: str | None = field(default=None, repr=False)
    """As `parse_proxy` reads it. It is the operator's: its own address is not guarded."""
    only_status: bool = False
    """Nobody wants the answer's body: trouble with it must not hide the status."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a connection leads."""

    secure: bool
    host: str
    port: int
    proxy: Proxy | None = None
    """By way of it."""


def spelled(request: Request, standing: str) -> tuple[Origin, bytes]:
    """Where to, and the bytes; `standing` are the header lines that every request carries."""
    parts = _CANONICAL.fullmatch(request.url)
    if parts is None:
        raise ValueError(f"not a URL that can be asked: {request.url!r}")
    scheme, host, port, target = parts.groups()
    origin = Origin(
        scheme == "https",
        host.strip("[]"),
        int(port) if port else _PORTS[scheme],
        parse_proxy(request.proxy) if request.proxy is not None else None,
    )
    authority = f"{host}:{port}" if port else host
    method, body = ("GET", b"") if request.body is None else ("POST", request.body)
    lines = _header_lines(request, standing)
    if origin.proxy is not None and not origin.secure:
        target = request.url
        if origin.proxy.authorization is not None:
            lines += f"Proxy-Authorization: {origin.proxy.authorization}\r\n"
    return origin, f"{method} {target} HTTP/1.1\r\nHost: {authority}\r\n{lines}\r\n".encode() + body


def _header_lines(request: Request, standing: str) -> str:
    """The standing lines, but for those that the request has itself, and its own."""
    if not (
        request.headers
        or request.etag
        or request.last_modified
        or request.user_agent is not None
        or request.body is not None
    ):
        return standing
    own = _own_headers(request)
    for name, value in own.values():
        if not _NAME.fullmatch(name) or _ENDS_A_LINE.search(value):
            raise ValueError(f"a header that would end its line: {name!r}: {value!r}")
    lines = [line for line in standing.split("\r\n") if line.partition(":")[0].lower() not in own]
    return "\r\n".join(lines) + "".join(f"{name}: {value}\r\n" for name, value in own.values())


def _own_headers(request: Request) -> dict[str, tuple[str, str]]:
    """By their names in lower case: one line each, and the last one counts."""
    own = {name.lower(): (name, value) for name, value in request.headers}
    if ours := _OURS & own.keys():
        raise ValueError(f"a header that no caller may set: {', '.join(sorted(ours))}")
    if request.user_agent is not None:
        own.setdefault("user-agent", ("User-Agent", request.user_agent))
    if request.body is not None:
        own["content-length"] = ("Content-Length", str(len(request.body)))
    if request.etag:
        own["if-none-match"] = ("If-None-Match", request.etag)
    if request.last_modified:
        own["if-modified-since"] = ("If-Modified-Since", request.last_modified)
    return own
