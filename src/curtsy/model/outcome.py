"""What a visit can come to. Expected failures are values, matched exhaustively."""

from dataclasses import dataclass, field

from curtsy.model.failure_kinds import Kind


@dataclass(frozen=True, slots=True)
class Reply:
    """A complete HTTP answer, its body decompressed and within all caps."""

    status: int
    url: str
    headers: dict[str, str]
    """Names in lower case; a name that came twice has its values joined by a comma, but the
    cookies by a line end."""
    body: bytes
    wire_bytes: int
    answered_ms: int = 0
    """From handing the request over until the answer's headers were there."""


@dataclass(frozen=True, slots=True)
class Record:
    """What a scraper made of a page; `content` is what is stored and compared."""

    content: bytes
    content_type: str
    charset: str | None
    memory: int | None = None
    """The most that the process that made it has had, in bytes."""
    links: tuple[str, ...] | None = None
    """Where the page leads; None: nobody wanted to know."""
    lines: tuple[tuple[str, str], ...] = ()
    """What the scraper adds to the job's log: level and message."""


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
    """The page is elsewhere: the visit goes on at this URL, when that source lets it."""

    url: str
    status: int
    progress: str | None = None
    """What the next hop must know."""


@dataclass(frozen=True, slots=True)
class Again:
    """Not done yet and nobody's fault: look again at `due_at`. Burns no attempt."""

    due_at: int
    progress: str | None


@dataclass(frozen=True, slots=True)
class Failed:
    kind: Kind
    error: str
    """A sentence for people."""
    status: int | None = None
    retry_after: int | None = None
    """A span that the host asked for, in milliseconds."""
    final: bool = False
    """True where trying again cannot help although the kind is usually retried (NXDOMAIN)."""
    whole_host: bool = False
    """The whole source rests, although the kind is usually a page's own trouble."""
    traceback: str | None = field(default=None, repr=False)
    memory: int | None = None
    wire_bytes: int | None = None
    """Of the answer, where there was a whole one."""
    lines: tuple[tuple[str, str], ...] = ()
    """What the scraper had added to the job's log by then."""


Outcome = Fetched | NotModified | Moved | Again | Failed
