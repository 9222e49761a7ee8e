"""A request, its origin, and its bytes on the wire."""

import re
from dataclasses import dataclass, field

from curtsy.fetch.proxy import Proxy, parse_proxy

# Only canonical URLs: no credentials, no fragment, no character that could end a line.
_CANONICAL = re.compile(
    r"(https?)://(\[[0-9a-f:.]+\]|[^\s/?#@:\[\]\x00-\x20\x7f-\U0010ffff]+)(?::([0-9]{1,5}))?"
    r"(/[!-\"$-~]*)"
)
_PORTS = {"http": 80, "https": 443}
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_LINE_BREAK = re.compile(r"[\r\n\0]")
_RESERVED = frozenset({
    "host", "connection", "keep-alive", "upgrade", "te", "trailer", "expect",
    "content-length", "transfer-encoding", "accept-encoding",
    "proxy-connection", "proxy-authorization",
})  # fmt: skip
"""Headers that callers may not set: they address the host or frame the message."""


@dataclass(frozen=True, slots=True)
class Request:
    url: str
    """Canonical: it is sent exactly as given."""
    headers: tuple[tuple[str, str], ...] = ()
    etag: str | None = None
    last_modified: str | None = None
    body: bytes | None = field(default=None, repr=False)
    """None: there is none, and the request is a GET."""
    method: str | None = None
    """None: GET, or POST with a body."""
    content_type: str | None = None
    """Of the body; overrides `headers`."""
    user_agent: str | None = None
    """Overrides the fetcher's User-Agent; `headers` overrides both."""
    timeout_ms: int | None = None
    """For the whole attempt; overrides the fetcher's limit."""
    proxy: str | None = field(default=None, repr=False)
    """In the form of `parse_proxy`. The guard checks its address with an allowance of its own."""
    proxies: tuple[str, ...] = field(default=(), repr=False)
    """Several, in place of one: each request goes through the next that does not rest."""
    only_status: bool = False
    """The body does not matter: an error in it must not hide the status."""


@dataclass(frozen=True, slots=True)
class Origin:
    """The other end of a connection."""

    secure: bool
    host: str
    port: int
    proxy: Proxy | None = None
    """Connect through this proxy."""

    @property
    def forwarded(self) -> bool:
        """The proxy itself sends the request on; else it only opens a connection to the host."""
        return self.proxy is not None and not self.secure and self.proxy.kind != "socks5"


def host_of(url: str) -> str:
    """The host of a canonical URL, with its port."""
    return url.partition("://")[2].partition("/")[0]


def encode(request: Request, default_headers: str) -> tuple[Origin, bytes]:
    """Returns the origin and the bytes to send; `default_headers` are header lines that the
    request's own headers override."""
    parts = _CANONICAL.fullmatch(request.url)
    if parts is None:
        raise ValueError(f"not a canonical URL: {request.url!r}")
    scheme, host, port, target = parts.groups()
    origin = Origin(
        scheme == "https",
        host.strip("[]"),
        int(port) if port else _PORTS[scheme],
        parse_proxy(request.proxy) if request.proxy is not None else None,
    )
    authority = f"{host}:{port}" if port else host
    body = request.body or b""
    method = request.method or ("GET" if request.body is None else "POST")
    if not _NAME.fullmatch(method):
        raise ValueError(f"not a method: {method!r}")
    lines = _header_lines(request, default_headers)
    if origin.proxy is not None and origin.forwarded:
        target = request.url
        if origin.proxy.authorization is not None:
            lines += f"Proxy-Authorization: {origin.proxy.authorization}\r\n"
    return origin, f"{method} {target} HTTP/1.1\r\nHost: {authority}\r\n{lines}\r\n".encode() + body


def _header_lines(request: Request, default_headers: str) -> str:
    """Returns the default headers, except those that the request overrides, and its own."""
    if not (
        request.headers
        or request.etag
        or request.last_modified
        or request.user_agent is not None
        or request.body is not None
        or request.content_type is not None
    ):
        return default_headers
    own = _own_headers(request)
    for name, value in own.values():
        if not _NAME.fullmatch(name) or _LINE_BREAK.search(value):
            raise ValueError(f"a header that would end its line: {name!r}: {value!r}")
    lines = [
        line for line in default_headers.split("\r\n") if line.partition(":")[0].lower() not in own
    ]
    return "\r\n".join(lines) + "".join(f"{name}: {value}\r\n" for name, value in own.values())


def _own_headers(request: Request) -> dict[str, tuple[str, str]]:
    """Returns the request's headers by lower-case name; of several with one name, the last."""
    own = {name.lower(): (name, value) for name, value in request.headers}
    if ours := _RESERVED & own.keys():
        raise ValueError(f"a header that no caller may set: {', '.join(sorted(ours))}")
    if request.user_agent is not None:
        own.setdefault("user-agent", ("User-Agent", request.user_agent))
    if request.body is not None:
        own["content-length"] = ("Content-Length", str(len(request.body)))
    if request.content_type is not None:
        own["content-type"] = ("Content-Type", request.content_type)
    if request.etag:
        own["if-none-match"] = ("If-None-Match", request.etag)
    if request.last_modified:
        own["if-modified-since"] = ("If-Modified-Since", request.last_modified)
    return own
