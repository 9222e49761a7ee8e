"""Updates the counts and the state of jobs, and inserts their events.

The UPDATE that changes the counts also numbers the events. The event numbers of a job therefore
have no gaps and follow the order of commits, and the item that ends last also ends the job.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from curtsy.events.run_log import RunEvent
from curtsy.events.stored_events import EventRow, JobProgress, event_call, event_row
from curtsy.events.webhooks import insert_deliveries
from curtsy.model.job_states import JobState, final_state
from curtsy.store import Connection, Statement, together

RUN_EVENTS = {
    "job_started": "run_started", "page_failed": "run_page_failed",
    "page_retried": "run_page_retried",
}  # fmt: skip
COUNTED_STATES = (JobState.QUEUED, JobState.RUNNING)

_LOCK = Statement(
    """
    SELECT id, state, total, done, failed, cancelled, links_waiting, last_event, round, webhook_url,
           public_id, (SELECT name FROM sites WHERE sites.id = jobs.site_id) AS site
    FROM jobs
    WHERE id IN (SELECT id FROM {wanted}) ORDER BY id {lock}
    """,
    wanted={"id": "bigint"},
)
_UPDATE = Statement(
    """
    UPDATE jobs SET state = c.state, done = c.done, failed = c.failed, cancelled = c.cancelled,
        total = c.total, links_waiting = c.links_waiting, last_event = c.last_event,
        round = c.round, updated_at = :now,
        capacity_ms = jobs.capacity_ms + c.capacity,
        politeness_ms = jobs.politeness_ms + c.politeness,
        closed_ms = jobs.closed_ms + c.closed, backoff_ms = jobs.backoff_ms + c.backoff,
        fetching_ms = jobs.fetching_ms + c.fetching,
        started_at = coalesce(jobs.started_at, c.began),
        paused_at = CASE WHEN c.finished THEN NULL ELSE jobs.paused_at END,
        finished_at = CASE WHEN c.finished THEN :now WHEN c.reopened THEN NULL
                           ELSE jobs.finished_at END,
        gathered_at = CASE WHEN c.reopened THEN NULL ELSE jobs.gathered_at END
    FROM (SELECT * FROM {changed}) c WHERE jobs.id = c.id
    """,
    changed={"id": "bigint", "state": "text", "done": "int", "failed": "int", "cancelled": "int",
             "total": "int", "links_waiting": "int", "last_event": "bigint",
             "round": "int", "began": "bigint", "finished": "bool", "reopened": "bool",
             "capacity": "bigint", "politeness": "bigint", "closed": "bigint",
             "backoff": "bigint", "fetching": "bigint"},
)  # fmt: skip
_COUNT_CACHED = Statement("UPDATE jobs SET cached = cached + :cached WHERE id = :job_id")


@dataclass(frozen=True, slots=True)
class Event:
    """An event of a job, with the changes of the job's counts."""

    name: str
    page_id: int | None = None
    data: dict[str, Any] = field(default_factory=dict)
    done: int = 0
    failed: int = 0
    cancelled: int = 0
    total: int = 0


Spent = tuple[int, int, int, int, int]
"""Milliseconds: waited for capacity, politeness, closed hours and backoff; and fetching."""
NOTHING: Spent = (0, 0, 0, 0, 0)


@dataclass(slots=True)
class Change:
    """The change of one job by a transaction; its counts change by the sums of its events."""

    links_waiting: int = 0
    spent: Spent = NOTHING
    """Summed over its pages."""
    reopened: bool = False
    started: bool = False
    began: int | None = None
    """When the first request of its results started, but not before the job was created."""
    called_off: bool = False
    """The job was scheduled and is cancelled before its slot."""
    cut_short: bool = False
    """Links that the job found will not be followed."""
    events: list[Event] = field(default_factory=list)

    def add(self, event: Event, spent: Spent, began: int) -> None:
        self.events.append(event)
        self.began = began if self.began is None else min(self.began, began)
        a, b, c, d, e = self.spent
        f, g, h, i, j = spent
        self.spent = (a + f, b + g, c + h, d + i, e + j)


class Changes(defaultdict[int, Change]):
    """By job id."""

    def __init__(self) -> None:
        super().__init__(Change)
        self.run_events: list[RunEvent] = []
        """Steps of runs to be logged after the commit; `count` adds them."""


class _Job(NamedTuple):
    id: int
    progress: JobProgress
    links_waiting: int
    last_event: int
    round: int
    webhook_url: str | None
    public_id: str
    site: str | None
    """The name of the site, for a run of a site."""


def count(connection: Connection, changes: Changes, *, now: int) -> list[int]:
    """Applies the changes; returns the ids of the jobs that ended. The caller has changed the items
    before."""
    if not changes:
        return []
    changed, finished = [], []
    events: list[EventRow] = []
    deliveries: list[tuple[int, int, str]] = []
    for job in _locked(connection, sorted(changes)):
        change = changes[job.id]
        after = _after(job, change)
        if after.finished:
            finished.append(job.id)
            if job.webhook_url:
                deliveries.append((job.id, after.round, job.webhook_url))
        events += _event_rows(job, after, change.events)
        if job.site is not None:
            changes.run_events += _run_events(job, job.site, after, change.events)
        progress = after.progress
        changed.append((
            job.id, progress.state, progress.done, progress.failed, progress.cancelled,
            progress.total, after.links_waiting, job.last_event + len(change.events), after.round,
            _began(after, change, now), after.finished, change.reopened, *change.spent,
        ))  # fmt: skip
    together(connection, (_UPDATE, {"changed": changed, "now": now}), event_call(events, now=now))
    insert_deliveries(connection, deliveries, now=now)
    return finished


def count_cached(connection: Connection, job_id: int, cached: int) -> None:
    """Adds pages that were served from the store to the job's `cached`."""
    _COUNT_CACHED(connection, job_id=job_id, cached=cached)


@dataclass(frozen=True, slots=True)
class _After:
    """A job after its change."""

    progress: JobProgress
    links_waiting: int
    round: int
    started: bool
    finished: bool


def _locked(connection: Connection, job_ids: Iterable[int]) -> list[_Job]:
    return [
        _Job(row.id, JobProgress(row.state, row.done, row.failed, row.cancelled, row.total),
             row.links_waiting, row.last_event, row.round, row.webhook_url, row.public_id,
             row.site)
        for row in _LOCK(connection, wanted=[(job_id,) for job_id in job_ids])
    ]  # fmt: skip


def _after(job: _Job, change: Change) -> _After:
    """The job after its change. Adds events for the start and the end of the job to the change."""
    events, before = change.events, job.progress
    done, failed = before.done + _sum(events, "done"), before.failed + _sum(events, "failed")
    cancelled = before.cancelled + _sum(events, "cancelled")
    total = before.total + _sum(events, "total")
    links_waiting = job.links_waiting + change.links_waiting
    was_open = before.state in COUNTED_STATES
    reopened = change.reopened and not was_open
    is_open = was_open or reopened
    called_off = change.called_off and before.state == JobState.SCHEDULED
    finished = called_off or (is_open and done + failed + cancelled == total and not links_waiting)
    started = change.started or any(event.done or event.failed > 0 for event in events)
    if started and before.state == JobState.QUEUED:
        events.insert(0, Event("job_started"))
    number = job.round + 1 if reopened else job.round
    if finished:
        given_up = cancelled + called_off + change.cut_short
        state: str = final_state(total=total, failed=failed, cancelled=given_up)
        events.append(Event("job_finished", data={"round": number}))
    elif reopened:
        state = JobState.QUEUED
    elif is_open and started:
        state = JobState.RUNNING
    else:
        state = before.state
    progress = JobProgress(state, done, failed, cancelled, total)
    return _After(progress, links_waiting, number, started, finished)


def _began(after: _After, change: Change, now: int) -> int | None:
    """Returns when the job began, as far as this change knows; None: the change does not say."""
    if not after.started:
        return None
    return now if change.began is None else min(change.began, now)


def _sum(events: Iterable[Event], count: str) -> int:
    return sum(getattr(event, count) for event in events)


def _event_rows(job: _Job, after: _After, events: Iterable[Event]) -> Iterator[EventRow]:
    """Numbers the events; each has the job's progress after it."""
    state, done, failed, cancelled, total = job.progress
    for n, event in enumerate(events, job.last_event + 1):
        done, failed = done + event.done, failed + event.failed
        cancelled, total = cancelled + event.cancelled, total + event.total
        state = _state_after(event, state, after.progress.state)
        progress = JobProgress(state, done, failed, cancelled, total)
        yield event_row(job.id, n, event.name, event.data, progress, event.page_id)


def _run_events(job: _Job, site: str, after: _After, events: Iterable[Event]) -> Iterator[RunEvent]:
    """The steps of a run that its log shows, each with the run's state after it. The end of a run
    is logged with its records (`sites`)."""
    state = job.progress.state
    for event in events:
        state = _state_after(event, state, after.progress.state)
        if (name := RUN_EVENTS.get(event.name)) is not None:
            data = event.data
            yield RunEvent(name, site, job.public_id, state, data.get("url"), data.get("kind"),
                           data.get("error"), data.get("again_at"))  # fmt: skip


def _state_after(event: Event, before: str, last: str) -> str:
    match event.name:
        case "job_started":
            return JobState.RUNNING
        case "job_finished":
            return last
        case "job_retried" if before not in COUNTED_STATES:
            return JobState.QUEUED
    return before
