"""What a worker has to tell the store: results of visits, and how its sources stand."""

from dataclasses import dataclass, field, replace

from curtsy.frontier.take import Visit
from curtsy.model.outcome import Again, Failed, Fetched, Moved, NotModified, Outcome
from curtsy.politeness.receipt import Receipt
from curtsy.politeness.waits import NOTHING, Waited

NEVER = 2**62


@dataclass(frozen=True, slots=True)
class Document:
    """A fetched record as it is stored."""

    content: bytes
    hash: str
    content_type: str
    charset: str | None
    bytes: int


@dataclass(frozen=True, slots=True)
class Result:
    """One turn of one visit. It counts only if the visit is still at that turn."""

    visit: Visit
    outcome: Outcome
    started_at: int
    ended_at: int
    again_at: int | None = None
    """The visit waits for this moment; None: the visit ends."""
    spends_attempt: bool = False
    refused: bool = False
    """By a host that had just answered another: it may be the page's own trouble."""
    moved_to_host: str | None = None
    document: Document | None = None
    links: tuple[str, ...] | None = None
    """Where the page leads; None: nobody looked."""
    lines: tuple[tuple[str, str], ...] = ()
    """What the scraper adds to the log."""
    waited: Waited = NOTHING
    """What the visit waited for before it started."""
    asked_robots: bool = False
    """Robots.txt had its say, and allowed it."""
    unasked: bool = False
    """Given up without a request: its host is dead or forbids it, or it keeps killing workers."""


@dataclass(frozen=True, slots=True)
class SourceReport:
    """How a leased source stands. Absolute values only, so that telling it twice does no harm."""

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
    """Of the days that the lease has seen."""
    release: "Release | None" = None


@dataclass(frozen=True, slots=True)
class Release:
    more: bool
    """Visits are known to wait that are due."""
    band: int
    known_band: int
    """The source's band when the worker last read it: a better one now means news."""
    looks: int
    """How often in a row it was found empty, this time included."""
    control_version: int = 0
    """Of the policy that the worker went by."""


@dataclass(slots=True)
class Batch:
    results: list[Result] = field(default_factory=list)
    reports: dict[int, SourceReport] = field(default_factory=dict)
    started: list[int] = field(default_factory=list)
    """Pages whose visit started and goes on."""

    def __bool__(self) -> bool:
        return bool(self.results or self.reports or self.started)


def in_time_of(result: Result, by: int) -> Result:
    """The same result, its instants moved by a jump of the clock since it was made."""
    if not by:
        return result
    again_at = None if result.again_at is None else result.again_at + by
    return replace(result, started_at=result.started_at + by, ended_at=result.ended_at + by,
                   again_at=again_at)  # fmt: skip


def shifted(batch: Batch, by: int) -> Batch:
    """The same batch in another time: every instant moved, every wait as long as before."""

    def moved(instant: int | None) -> int | None:
        return None if instant is None else instant + by

    return Batch(
        [in_time_of(r, by) for r in batch.results],
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
    """No longer ours: what was said of them is dropped."""
    recorded: int
    dropped: int


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
