"""The possible outcomes of a visit. Expected failures are values, matched exhaustively."""

from dataclasses import dataclass, field

from curtsy.model.failure_kinds import Kind
from curtsy.model.link import Link


@dataclass(frozen=True, slots=True)
class Reply:
    """A complete HTTP response, decompressed and within all size limits."""

    status: int
    url: str
    headers: dict[str, str]
    """Names in lower case. The values of a repeated header are joined by a comma, those of
    Set-Cookie by a newline."""
    body: bytes
    wire_bytes: int
    answered_ms: int = 0
    """Milliseconds from sending the request to receiving the response headers."""
    asked_url: str = ""
    """The URL that the visit began with, before redirects; empty: not known."""


@dataclass(frozen=True, slots=True)
class Record:
    """What a scraper extracted from a page; `content` is stored."""

    content: bytes
    content_type: str
    charset: str | None
    memory: int | None = None
    """Peak memory of the extracting process, in bytes."""
    links: tuple[Link, ...] | None = None
    """The links of the page; None: links were not extracted."""
    lines: tuple[tuple[str, str], ...] = ()
    """The scraper's lines for the job's log: level and message."""
    digest: str | None = None
    """What is compared to see whether the page changed; None: the digest of the content."""


@dataclass(frozen=True, slots=True)
class Fetched:
    status: int
    url: str
    etag: str | None = None
    last_modified: str | None = None
    wire_bytes: int = 0
    memory: int | None = None


@dataclass(frozen=True, slots=True)
class NotModified:
    status: int = 304


@dataclass(frozen=True, slots=True)
class Moved:
    """The page redirects: the visit continues at this URL, at the pace of that URL's source."""

    url: str
    status: int
    progress: str | None = None
    """State for the next request of the visit."""
    repeats: bool = False
    """The next request has the method and the body of the page; otherwise it is a GET."""


@dataclass(frozen=True, slots=True)
class Again:
    """Not finished, without a failure: the visit continues at `due_at`. No attempt is counted."""

    due_at: int
    progress: str | None


@dataclass(frozen=True, slots=True)
class Failed:
    kind: Kind
    error: str
    """A sentence for users."""
    status: int | None = None
    retry_after: int | None = None
    """The wait that the host asked for, in milliseconds."""
    final: bool = False
    """A retry cannot help, although the kind is usually retried (NXDOMAIN)."""
    whole_host: bool = False
    """The whole source rests, although the kind usually concerns only the page."""
    proxies_rest: int | None = None
    """A proxy failed, one of several: milliseconds until one of them is ready. Neither the page
    nor its host is at fault."""
    traceback: str | None = field(default=None, repr=False)
    memory: int | None = None
    wire_bytes: int | None = None
    """Size of the response; None: there was no complete one."""
    lines: tuple[tuple[str, str], ...] = ()
    """The scraper's lines for the job's log up to the failure."""


Outcome = Fetched | NotModified | Moved | Again | Failed
