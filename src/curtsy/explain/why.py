"""Why something waits: a job, a page or a source. Read in one look, so that it fits together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from curtsy.clock import rfc3339
from curtsy.errors import NotFound
from curtsy.explain.blockers import (
    Blocker,
    WorkersAtWork,
    source_blockers,
    waits_for_retries,
    without_names,
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
from curtsy.model.jobs import OPEN_STATES
from curtsy.politeness.policy import Policy
from curtsy.store import Connection, Statement

SOURCES_SHOWN = 20

_JOB = Statement(
    """
    SELECT id, public_id, state, paused_at, due_at, total, done, failed, cancelled, links_waiting,
           finish_by, capacity_ms, politeness_ms, closed_ms, backoff_ms, fetching_ms
    FROM jobs WHERE public_id = :job
    """
)
_PAGE = Statement(
    """
    SELECT p.id, p.url, p.outcome, p.kind, p.error, p.checked_at, v.page_id AS visit, v.source_id,
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


@dataclass(frozen=True, slots=True)
class Why:
    """Of a page or a source."""

    name: str
    state: str
    blockers: Sequence[Blocker]
    predicted_start_at: int | None = None
    ahead: int | None = None


@dataclass(frozen=True, slots=True)
class WhySource:
    """What a job waits for at one source."""

    outlook: SourceOutlook
    blockers: Sequence[Blocker]
    moves: bool
    """Without anybody's doing; else nothing can be foretold."""


@dataclass(frozen=True, slots=True)
class WhyJob:
    row: Any
    blockers: Sequence[Blocker]
    """That hold the whole job."""
    sources: Sequence[WhySource] = ()
    """The last to end first."""
    more_sources: int = 0
    finish_at: int | None = None
    ledger: Mapping[str, int] = field(default_factory=dict)
    """Milliseconds of its pages' time, by what they were spent on."""


def why_source(connection: Connection, name: str, defaults: Policy, *, now: int) -> Why:
    source_id = _SOURCE(connection, name=name).scalar()
    if source_id is None:
        raise NotFound("source", name[:200])
    look = _Look(connection, source_snapshots(connection, [source_id], defaults, now=now), now)
    waiting = _WAITING(connection, source_id=source_id, now=now).one()
    number, blockers = waiting.ready + waiting.due + waiting.later, look.blockers(source_id)
    if not number:
        return Why(name, "idle", blockers, ahead=0)
    from_at = now
    if not waiting.ready + waiting.due:
        blockers = [waits_for_retries(waiting.later, waiting.first_later), *blockers]
        from_at = waiting.first_later
    start = look.snapshots[source_id].start_of(1, from_at) if look.moves(source_id) else None
    return Why(name, "waiting" if blockers else "ready", blockers, start, number)


def why_page(
    connection: Connection, page_id: int, name: str, defaults: Policy, *, now: int,
    confined: bool = False,
) -> Why:  # fmt: skip
    page = _PAGE(connection, page_id=page_id).one_or_none()
    if page is None:
        raise NotFound("page", name)
    if page.visit is None:
        return _not_queued(page, name)
    known = source_snapshots(connection, [page.source_id], defaults, now=now)
    look = _Look(connection, known, now, confined)
    snapshot = look.snapshots[page.source_id]
    if page.due_at is not None and page.due_at > now:
        own, ahead = [_retry(page, snapshot)], None
        start = snapshot.start_of(1, page.due_at)
    elif page.id in snapshot.open:
        return Why(name, "in_flight", [], now, 0)
    else:
        place = (page.source_id, page.priority * PLACE + page.rank)
        up_to = visits_up_to(connection, [place], now=now)[place]
        ahead = max(0, up_to - 1 - len(snapshot.open))
        own = [_behind(page, ahead)] if ahead else []
        start = snapshot.start_of(ahead + 1, now)
    blockers = [*own, *look.blockers(page.source_id)]
    moves = look.moves(page.source_id)
    return Why(name, "waiting" if blockers else "ready", blockers, start if moves else None, ahead)


def why_job(
    connection: Connection, job: str, defaults: Policy, *, now: int, confined: bool = False
) -> WhyJob:
    """`confined`: for one who may see no more than what is its own."""
    row = _JOB(connection, job=job).one_or_none()
    if row is None:
        raise NotFound("job", job)
    ledger = {what: getattr(row, f"{what}_ms")
              for what in ("capacity", "politeness", "closed", "backoff", "fetching")}  # fmt: skip
    if row.state not in OPEN_STATES:
        ended = Blocker("ended", f"It does not wait: it has ended as {row.state}.")
        return WhyJob(row, [ended], ledger=ledger)
    outlook = job_outlook(connection, row.id, defaults, now=now)
    shown = outlook.sources[:SOURCES_SHOWN]
    look = _Look(connection, {o.snapshot.row.id: o.snapshot for o in shown}, now, confined)
    return WhyJob(
        row, [*_of_job(row), *look.hands.blockers()], [look.of_job(o) for o in shown],
        len(outlook.sources) - len(shown), expected_end(outlook, look.hands), ledger,
    )  # fmt: skip


def expected_end(outlook: Outlook, hands: WorkersAtWork) -> int | None:
    """None where it waits for something that nobody can foretell."""
    stuck = not hands.at_work or any(o.snapshot.row.paused for o in outlook.sources)
    return None if stuck else outlook.finish_at


def eta(connection: Connection, job_id: int, defaults: Policy, *, now: int) -> int | None:
    hands = WorkersAtWork.now(connection, now)
    if not hands.at_work:
        return None
    return expected_end(job_outlook(connection, job_id, defaults, now=now), hands)


class _Look:
    """Some sources, and who is at work."""

    def __init__(
        self, connection: Connection, snapshots: Mapping[int, SourceSnapshot], now: int,
        confined: bool = False,
    ) -> None:  # fmt: skip
        self._now, self._confined, self.snapshots = now, confined, snapshots
        self.hands = WorkersAtWork.now(connection, now)

    def blockers(self, source_id: int, *, hands: bool = True) -> list[Blocker]:
        snapshot = self.snapshots[source_id]
        found = source_blockers(snapshot, self.hands, now=self._now)
        found += self.hands.blockers() if hands else ()
        return [without_names(b, snapshot.row.name) for b in found] if self._confined else found

    def of_job(self, outlook: SourceOutlook) -> WhySource:
        source_id, later_at = outlook.snapshot.row.id, outlook.first_later_at
        all_open = outlook.open >= outlook.pages
        blockers = [] if all_open else self.blockers(source_id, hands=False)
        if later_at is not None and outlook.later == outlook.pages:
            blockers = [waits_for_retries(outlook.later, later_at), *blockers]
        return WhySource(outlook, blockers, self.moves(source_id))

    def moves(self, source_id: int) -> bool:
        """Without anybody's doing."""
        return self.hands.at_work and not self.snapshots[source_id].row.paused


def _not_queued(page: Any, name: str) -> Why:
    if page.held:
        held = Blocker("job_paused", "Every job that waits for this page is paused.",
                       frees="`curtsy resume JOB`.", data={"jobs": page.held})  # fmt: skip
        return Why(name, "held", [held])
    if page.outcome is None:
        return Why(name, "idle", [Blocker("not_wanted", "No job waits for this page.")])
    when = rfc3339(page.checked_at)
    because = f"It does not wait: {page.outcome} at {when}."
    if page.kind is not None:
        because = f"It does not wait: given up at {when} ({page.kind}). {page.error}"
    return Why(name, "ended", [Blocker("ended", because)])


def _retry(page: Any, snapshot: SourceSnapshot) -> Blocker:
    most, at = snapshot.policy.max_retries, rfc3339(page.due_at)
    last = f" after {page.kind}: {page.error}" if page.kind is not None else ""
    if not page.attempt:
        return Blocker("later", f"It goes on at {at}{last or '.'}", page.due_at)
    return Blocker("retry", f"Retry {page.attempt} of {most} at {at}{last}", page.due_at,
                   frees="Its time.", data={"retry": page.attempt, "max_retries": most,
                                            "kind": page.kind})  # fmt: skip


def _behind(page: Any, ahead: int) -> Blocker:
    return Blocker("behind", f"{ahead} visits of its source go before it.",
                   frees="A better priority (1 is first).",
                   data={"ahead": ahead, "priority": page.priority})  # fmt: skip


def _of_job(row: Any) -> list[Blocker]:
    found = []
    if row.state == "scheduled" and row.due_at is not None:
        found.append(Blocker("scheduled", f"It begins at {rfc3339(row.due_at)}.", row.due_at,
                             frees="Its time; `curtsy schedules run` begins it now."))  # fmt: skip
    if row.paused_at is not None:
        found.append(Blocker("job_paused", f"The job is paused since {rfc3339(row.paused_at)}.",
                             frees=f"`curtsy resume {row.public_id}`."))  # fmt: skip
    if row.links_waiting:
        found.append(Blocker("links", f"The links of {row.links_waiting} pages are being followed.",
                             data={"pages": row.links_waiting}))  # fmt: skip
    return found
