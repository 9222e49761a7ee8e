"""Why a job, a page or a source waits. Each function reads in one transaction, so that the parts of
its answer are consistent."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from curtsy.clock import rfc3339, rfc3339_or_none
from curtsy.errors import NotFound
from curtsy.explain.blockers import (
    NOTHING_TO_DO,
    Blocker,
    LiveWorkers,
    only_retries,
    redacted,
    source_blockers,
)
from curtsy.explain.outlook import (
    PLACE,
    Outlook,
    SourceOutlook,
    SourceSnapshot,
    job_outlook,
    source_snapshots,
    visits_up_to,
)
from curtsy.model.counts import counted
from curtsy.model.job_states import OPEN_STATES
from curtsy.politeness.policy import Policy
from curtsy.store import Connection, Statement

SOURCES_SHOWN = 20
LEDGER = ("capacity", "politeness", "closed", "backoff", "fetching")

_JOB = Statement(
    """
    SELECT id, public_id, state, paused_at, due_at, links_waiting, finish_by,
           capacity_ms, politeness_ms, closed_ms, backoff_ms, fetching_ms
    FROM jobs WHERE public_id = :job
    """
)
_PAGE = Statement(
    """
    SELECT p.id, p.outcome, p.kind, p.error, p.checked_at, v.page_id AS visit, v.source_id,
           v.priority, v.rank, v.due_at, v.attempt,
           (SELECT count(*) FROM items i JOIN jobs j ON j.id = i.job_id
            WHERE i.page_id = p.id AND i.state = 0 AND j.paused_at IS NOT NULL) AS held
    FROM pages p LEFT JOIN visits v ON v.page_id = p.id WHERE p.id = :page_id
    """
)
_SOURCE = Statement("SELECT id FROM sources WHERE name = :name")
_WAITING = Statement(
    """
    SELECT (SELECT count(*) FROM (SELECT 1 AS one FROM visits
                                  WHERE source_id = :source_id AND due_at IS NULL
                                  LIMIT 100000) AS ready) AS ready,
           (SELECT count(*) FROM (SELECT 1 AS one FROM visits
                                  WHERE source_id = :source_id AND due_at <= :now
                                  LIMIT 100000) AS due) AS due,
           (SELECT count(*) FROM (SELECT 1 AS one FROM visits
                                  WHERE source_id = :source_id AND due_at > :now
                                  LIMIT 100000) AS later) AS later,
           (SELECT min(due_at) FROM visits WHERE source_id = :source_id AND due_at > :now)
               AS first_later
    """
)


class JobRow(NamedTuple):
    id: int
    public_id: str
    state: str
    paused_at: int | None
    due_at: int | None
    links_waiting: int
    finish_by: int | None
    capacity_ms: int
    politeness_ms: int
    closed_ms: int
    backoff_ms: int
    fetching_ms: int

    @property
    def state_shown(self) -> str:
        """`paused` for an open job that somebody paused; otherwise its state."""
        held = self.paused_at is not None and self.state in OPEN_STATES
        return "paused" if held else self.state

    @property
    def ledger(self) -> dict[str, int]:
        spent = (self.capacity_ms, self.politeness_ms, self.closed_ms, self.backoff_ms,
                 self.fetching_ms)  # fmt: skip
        return dict(zip(LEDGER, spent, strict=True))


class _Visit(NamedTuple):
    source_id: int
    priority: int
    rank: int
    due_at: int | None
    attempt: int


class _Page(NamedTuple):
    id: int
    outcome: str | None
    kind: str | None
    error: str | None
    checked_at: int | None
    held: int
    """Paused jobs that wait for the page."""
    visit: _Visit | None
    """None: the page is not queued."""


@dataclass(frozen=True, slots=True)
class Why:
    """Why a page or a source waits."""

    name: str
    state: str
    blockers: Sequence[Blocker]
    predicted_start_at: int | None = None
    ahead: int | None = None


@dataclass(frozen=True, slots=True)
class WhySource:
    """Why a job waits at one source."""

    outlook: SourceOutlook
    blockers: Sequence[Blocker]
    moves: bool
    """The source proceeds without a person's action; if not, its times cannot be predicted."""


@dataclass(frozen=True, slots=True)
class WhyJob:
    row: JobRow
    blockers: Sequence[Blocker]
    """Reasons that hold the whole job."""
    sources: Sequence[WhySource] = ()
    """The last to end comes first."""
    more_sources: int = 0
    finish_at: int | None = None
    ledger: Mapping[str, int] = field(default_factory=dict)
    """Milliseconds that the job's pages spent, by what they were spent on."""

    @property
    def in_time(self) -> bool | None:
        """Whether the job is expected to end by its `finish_by`; None: either is unknown."""
        finish_by = self.row.finish_by
        if finish_by is None or self.finish_at is None:
            return None
        return self.finish_at <= finish_by


def why_source(connection: Connection, name: str, defaults: Policy, *, now: int) -> Why:
    source_id = _SOURCE(connection, name=name).scalar()
    if source_id is None:
        raise NotFound("source", name[:200])
    snapshots = source_snapshots(connection, [source_id], defaults, now=now)
    reasons = _Reasons(connection, snapshots, now)
    waiting = _WAITING(connection, source_id=source_id, now=now).one()
    visits, blockers = waiting.ready + waiting.due + waiting.later, reasons.at_source(source_id)
    if not visits:
        return Why(name, "idle", blockers, ahead=0)
    from_at = now
    if not waiting.ready + waiting.due:
        blockers = [only_retries(waiting.later, waiting.first_later), *blockers]
        from_at = waiting.first_later
    start = snapshots[source_id].start_of(1, from_at) if reasons.moves(source_id) else None
    return Why(name, "waiting" if blockers else "ready", blockers, start, visits)


def why_page(
    connection: Connection, page_id: int, name: str, defaults: Policy, *, now: int,
    confined: bool = False,
) -> Why:  # fmt: skip
    """Why a page waits; `confined` as for `why_job`."""
    page = _page(connection, page_id)
    if page is None:
        raise NotFound("page", name)
    if page.visit is None:
        return _not_queued(page, name)
    visit, source_id = page.visit, page.visit.source_id
    snapshots = source_snapshots(connection, [source_id], defaults, now=now)
    reasons, snapshot = _Reasons(connection, snapshots, now, confined), snapshots[source_id]
    ahead: int | None = None
    if visit.due_at is not None and visit.due_at > now:
        own = [_retry(page, visit, visit.due_at, snapshot.policy)]
        start = snapshot.start_of(1, visit.due_at)
    elif page.id in snapshot.open:
        return Why(name, "in_flight", [], now, 0)
    else:
        place = (source_id, visit.priority * PLACE + visit.rank)
        up_to = visits_up_to(connection, [place], now=now)[place]
        ahead = max(0, up_to - 1 - len(snapshot.open))
        own = [_behind(visit, ahead)] if ahead else []
        start = snapshot.start_of(ahead + 1, now)
    blockers = [*own, *reasons.at_source(source_id)]
    state = "waiting" if blockers else "ready"
    return Why(name, state, blockers, start if reasons.moves(source_id) else None, ahead)


def why_job(
    connection: Connection, job: str, defaults: Policy, *, now: int, confined: bool = False
) -> WhyJob:
    """Why a job waits. `confined`: the caller sees only its own jobs, so that reasons name neither
    URLs nor people of others."""
    found = _JOB(connection, job=job).one_or_none()
    if found is None:
        raise NotFound("job", job)
    row = JobRow._make(found)
    if row.state not in OPEN_STATES:
        ended = Blocker("ended", f"The job waits for nothing: it has ended ({row.state}).")
        return WhyJob(row, [ended], ledger=row.ledger)
    outlook = job_outlook(connection, row.id, defaults, now=now)
    shown = outlook.sources[:SOURCES_SHOWN]
    snapshots = {o.snapshot.row.id: o.snapshot for o in shown}
    reasons = _Reasons(connection, snapshots, now, confined)
    return WhyJob(
        row, [*_whole_job(row), *reasons.workers.blockers()],
        [reasons.of_job(o) for o in shown], len(outlook.sources) - len(shown),
        _expected_end(outlook, reasons.workers) if row.paused_at is None else None, row.ledger,
    )  # fmt: skip


def eta(connection: Connection, job_id: int, defaults: Policy, *, now: int) -> int | None:
    """When the job is expected to end; None: it waits for a person, so there is no estimate."""
    workers = LiveWorkers.now(connection, now)
    if not workers.accept_work:
        return None
    return _expected_end(job_outlook(connection, job_id, defaults, now=now), workers)


def _expected_end(outlook: Outlook, workers: LiveWorkers) -> int | None:
    stuck = not workers.accept_work or any(o.snapshot.row.paused for o in outlook.sources)
    return None if stuck else outlook.finish_at


class _Reasons:
    """The reasons to wait at some sources, with the workers that are alive."""

    def __init__(
        self, connection: Connection, snapshots: Mapping[int, SourceSnapshot], now: int,
        confined: bool = False,
    ) -> None:  # fmt: skip
        self._snapshots, self._now, self._confined = snapshots, now, confined
        self.workers = LiveWorkers.now(connection, now)

    def at_source(self, source_id: int, *, with_workers: bool = True) -> list[Blocker]:
        snapshot = self._snapshots[source_id]
        found = source_blockers(snapshot, self.workers, now=self._now)
        found += self.workers.blockers() if with_workers else ()
        return [redacted(b, snapshot.row.name) for b in found] if self._confined else found

    def of_job(self, outlook: SourceOutlook) -> WhySource:
        source_id, later_at = outlook.snapshot.row.id, outlook.first_later_at
        all_open = outlook.open >= outlook.pages
        blockers = [] if all_open else self.at_source(source_id, with_workers=False)
        if later_at is not None and outlook.later == outlook.pages:
            blockers = [only_retries(outlook.later, later_at), *blockers]
        return WhySource(outlook, blockers, self.moves(source_id))

    def moves(self, source_id: int) -> bool:
        """Whether the source proceeds without a person's action."""
        return self.workers.accept_work and not self._snapshots[source_id].row.paused


def _page(connection: Connection, page_id: int) -> _Page | None:
    row = _PAGE(connection, page_id=page_id).one_or_none()
    if row is None:
        return None
    visit = None
    if row.visit is not None:
        visit = _Visit(row.source_id, row.priority, row.rank, row.due_at, row.attempt)
    return _Page(row.id, row.outcome, row.kind, row.error, row.checked_at, row.held, visit)


def _not_queued(page: _Page, name: str) -> Why:
    if page.held:
        held = Blocker("job_paused", "Every job that waits for this page is paused.",
                       frees="`curtsy resume JOB`.", data={"jobs": page.held})  # fmt: skip
        return Why(name, "held", [held])
    if page.outcome is None:
        return Why(name, "idle", [Blocker("not_wanted", "No job waits for this page.")])
    when = rfc3339_or_none(page.checked_at)
    ended = f"{page.outcome} at {when}."
    if page.kind is not None:
        ended = f"given up at {when} ({page.kind}). {page.error}"
    return Why(name, "ended", [Blocker("ended", f"The page waits for nothing: {ended}")])


def _retry(page: _Page, visit: _Visit, due_at: int, policy: Policy) -> Blocker:
    most, at = policy.max_retries, rfc3339(due_at)
    failure = f" after {page.kind}: {page.error}" if page.kind is not None else "."
    if not visit.attempt:
        return Blocker("later", f"The page continues at {at}{failure}", due_at,
                       frees=NOTHING_TO_DO)  # fmt: skip
    return Blocker("retry", f"Retry {visit.attempt} of {most} may start at {at}{failure}", due_at,
                   frees=NOTHING_TO_DO, data={"retry": visit.attempt, "max_retries": most,
                                              "kind": page.kind})  # fmt: skip


def _behind(visit: _Visit, ahead: int) -> Blocker:
    visits = counted(ahead, "visit")
    return Blocker("behind", f"The page is queued behind {visits} to the same source.",
                   frees="The end of those visits, or a better priority (1 is first).",
                   data={"ahead": ahead, "priority": visit.priority})  # fmt: skip


def _whole_job(row: JobRow) -> list[Blocker]:
    found = []
    if row.state == "scheduled" and row.due_at is not None:
        found.append(Blocker("scheduled", f"The job starts at {rfc3339(row.due_at)}.", row.due_at,
                             frees=f"{NOTHING_TO_DO} `curtsy schedules run` starts the job "
                             "now."))  # fmt: skip
    if row.paused_at is not None:
        found.append(Blocker("job_paused", f"The job has been paused since "
                             f"{rfc3339(row.paused_at)}.",
                             frees=f"`curtsy resume {row.public_id}`."))  # fmt: skip
    if row.links_waiting:
        pages = counted(row.links_waiting, "page")
        found.append(Blocker("links", f"The links of {pages} are being followed.",
                             frees="Nothing to do: this takes a few seconds.",
                             data={"pages": row.links_waiting}))  # fmt: skip
    return found
