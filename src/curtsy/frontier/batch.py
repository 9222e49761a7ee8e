"""What a worker flushes to the store: results of visits, and the state of its sources."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from curtsy.events.run_log import RunEvent
from curtsy.frontier.cookie_jars import StoredJar
from curtsy.frontier.take import Visit
from curtsy.model.link import Link
from curtsy.model.outcome import Again, Failed, Fetched, Moved, NotModified, Outcome
from curtsy.politeness.receipt import Receipt
from curtsy.politeness.waits import NOTHING, Waited

NEVER = 2**62


@dataclass(slots=True)
class Document:
    """A fetched document. The flusher packs it."""

    content: bytes
    hash: str
    content_type: str
    charset: str | None
    bytes: int
    """The size before compression."""
    packed: bool = True
    """The content is compressed, as it is stored."""


@dataclass(frozen=True, slots=True)
class Result:
    """The result of one turn of a visit. It counts only if the visit is still at that turn."""

    visit: Visit
    outcome: Outcome
    started_at: int
    ended_at: int
    again_at: int | None = None
    """The visit continues at this instant; None: the visit ends."""
    spends_attempt: bool = False
    refused: bool = False
    """The host refused this page, but had just answered another: the fault may be the page's."""
    moved_to_host: str | None = None
    document: Document | None = None
    links: tuple[Link, ...] | None = None
    """None: links were not extracted."""
    lines: tuple[tuple[str, str], ...] = ()
    """Log lines of the scraper: level and text."""
    waited: Waited = NOTHING
    """How long the visit waited, by cause."""
    robots_allowed: bool = False
    """The robots.txt was checked and allowed the request."""
    no_request: bool = False
    """Given up without a request: the host is dead or forbids it, or the page crashes workers."""
    of_robots: bool = False
    """The request was for the robots.txt of the host, which failed: the page was not requested."""

    @property
    def requested(self) -> bool:
        """The page itself was requested."""
        return not (self.no_request or self.of_robots)


@dataclass(frozen=True, slots=True)
class SourceReport:
    """The state of a leased source, in absolute values: a repeated flush does no harm."""

    source_id: int
    epoch: int
    next_fetch_at: int
    delay_ms: int
    ranks: str
    pace: str
    paced_at: int | None
    fail_streak: int
    failing_since: int | None
    receipts: tuple[Receipt, ...] = ()
    """One for each day of the lease."""
    release: "Release | None" = None
    jars: tuple[StoredJar, ...] = ()
    """The sessions whose cookies or login have changed."""


@dataclass(frozen=True, slots=True)
class Release:
    more: bool
    """Due visits are known to wait."""
    band: int
    known_band: int
    """The band of the source when the worker last read it: a better one means new work."""
    looks: int
    """How often in a row the source was found empty, this time included."""
    control_version: int = 0
    """The version of the policy that the worker used."""


@dataclass(slots=True)
class Batch:
    results: list[Result] = field(default_factory=list)
    reports: dict[int, SourceReport] = field(default_factory=dict)
    started: list[int] = field(default_factory=list)
    """Pages whose visit has started and not ended."""

    def __bool__(self) -> bool:
        return bool(self.results or self.reports or self.started)


def shift_result(result: Result, by: int) -> Result:
    """Moves the instants of a result by a later jump of the clock."""
    if not by:
        return result
    again_at = None if result.again_at is None else result.again_at + by
    return replace(result, started_at=result.started_at + by, ended_at=result.ended_at + by,
                   again_at=again_at)  # fmt: skip


def shift_batch(batch: Batch, by: int) -> Batch:
    """Moves every instant of a batch; every wait is as long as before."""

    def moved(instant: int | None) -> int | None:
        return None if instant is None else instant + by

    return Batch(
        [shift_result(r, by) for r in batch.results],
        {
            i: replace(r, next_fetch_at=r.next_fetch_at + by,
                       failing_since=moved(r.failing_since), paced_at=moved(r.paced_at))
            for i, r in batch.reports.items()
        },
        batch.started,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Flushed:
    lost_sources: frozenset[int]
    """Sources that this worker no longer owns: their results and reports are dropped."""
    recorded: int
    dropped: int
    run_events: Sequence[RunEvent] = ()


def outcome_name(outcome: Outcome) -> str:
    match outcome:
        case Fetched():
            return "fetched"
        case NotModified():
            return "not_modified"
        case Moved():
            return "moved"
        case Again():
            return "again"
        case Failed():
            return "failed"
