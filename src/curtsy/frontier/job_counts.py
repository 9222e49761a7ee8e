"""Jobs count their items; their events are numbered by the same UPDATE that counts.

So the numbers of a job's events have no gaps and follow the order of commits, and the item that
ends last also ends the job.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import orjson

from curtsy.events.stored_events import record_events
from curtsy.events.webhooks import announce
from curtsy.model.jobs import JobState, final_state
from curtsy.store import Connection, Statement

COUNTED_STATES = (JobState.QUEUED, JobState.RUNNING)


@dataclass(frozen=True, slots=True)
class Event:
    """A fact about a job, with what it adds to the job's counts."""

    name: str
    page_id: int | None = None
    data: dict[str, Any] = field(default_factory=dict)
    done: int = 0
    failed: int = 0
    cancelled: int = 0
    total: int = 0


Spent = tuple[int, int, int, int, int]
"""Waiting for capacity, politeness, closed hours, backoff; and fetching."""
NOTHING: Spent = (0, 0, 0, 0, 0)


@dataclass(slots=True)
class Change:
    """What a transaction does to one job; its counts change by the sums of its events."""

    links_waiting: int = 0
    spent: Spent = NOTHING
    """Milliseconds of its pages, by what they were spent on."""
    reopened: bool = False
    started: bool = False
    called_off: bool = False
    """It was to come in at its slot, and will not."""
    cut_short: bool = False
    """Links that it found are not followed any more."""
    events: list[Event] = field(default_factory=list)

    def add(self, event: Event, spent: Spent) -> None:
        self.events.append(event)
        a, b, c, d, e = self.spent
        f, g, h, i, j = spent
        self.spent = (a + f, b + g, c + h, d + i, e + j)


class Changes(defaultdict[int, Change]):
    """By job id."""

    def __init__(self) -> None:
        super().__init__(Change)


_LOCK = Statement(
    """
    SELECT id, state, total, done, failed, cancelled, links_waiting, last_event, round, webhook_url
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
        started_at = CASE WHEN c.started THEN coalesce(jobs.started_at, :now)
                          ELSE jobs.started_at END,
        paused_at = CASE WHEN c.finished THEN NULL ELSE jobs.paused_at END,
        finished_at = CASE WHEN c.finished THEN :now WHEN c.reopened THEN NULL
                           ELSE jobs.finished_at END,
        gathered_at = CASE WHEN c.reopened THEN NULL ELSE jobs.gathered_at END
    FROM (SELECT * FROM {changed}) c WHERE jobs.id = c.id
    """,
    changed={"id": "bigint", "state": "text", "done": "int", "failed": "int", "cancelled": "int",
             "total": "int", "links_waiting": "int", "last_event": "bigint",
             "round": "int", "started": "bool", "finished": "bool", "reopened": "bool",
             "capacity": "bigint", "politeness": "bigint", "closed": "bigint",
             "backoff": "bigint", "fetching": "bigint"},
)  # fmt: skip


def count(connection: Connection, changes: Changes, *, now: int) -> list[int]:
    """Apply the changes; returns the jobs that ended. The items were changed before this."""
    if not changes:
        return []
    rows = list(_LOCK(connection, wanted=[(job_id,) for job_id in sorted(changes)]))
    changed, made, finished = [], [], []
    announced: list[tuple[int, int, str]] = []
    for row in rows:
        change = changes[row.id]
        after = _after(row, change)
        if after.finished:
            finished.append(row.id)
            if row.webhook_url:
                announced.append((row.id, after.round, row.webhook_url))
        made += _numbered(row, after, change.events)
        changed.append((
            row.id, after.state, after.done, after.failed, after.cancelled, after.total,
            after.links_waiting, row.last_event + len(change.events), after.round, after.started,
            after.finished, change.reopened, *change.spent,
        ))  # fmt: skip
    _UPDATE(connection, changed=changed, now=now)
    record_events(connection, made, now=now)
    announce(connection, announced, now=now)
    return finished


@dataclass(frozen=True, slots=True)
class _After:
    state: str
    done: int
    failed: int
    cancelled: int
    total: int
    links_waiting: int
    round: int
    started: bool
    finished: bool


def _after(row: Any, change: Change) -> _After:
    """How the job stands afterwards; its start and its end become events of their own."""
    events = change.events
    done, failed = row.done + _sum(events, "done"), row.failed + _sum(events, "failed")
    cancelled, total = row.cancelled + _sum(events, "cancelled"), row.total + _sum(events, "total")
    links_waiting = row.links_waiting + change.links_waiting
    was_open = row.state in COUNTED_STATES
    reopened = change.reopened and not was_open
    is_open = was_open or reopened
    called_off = change.called_off and row.state == JobState.SCHEDULED
    finished = called_off or (is_open and done + failed + cancelled == total and not links_waiting)
    started = change.started or any(event.done or event.failed > 0 for event in events)
    if started and row.state == JobState.QUEUED:
        events.insert(0, Event("job_started"))
    number = row.round + 1 if reopened else row.round
    if finished:
        given_up = cancelled + called_off + change.cut_short
        state: str = final_state(total=total, failed=failed, cancelled=given_up)
        events.append(Event("job_finished", data={"round": number}))
    elif reopened:
        state = JobState.QUEUED
    elif is_open and started:
        state = JobState.RUNNING
    else:
        state = row.state
    return _After(
        state, done, failed, cancelled, total, links_waiting, number, started, finished
    )  # fmt: skip


def _sum(events: Iterable[Event], count: str) -> int:
    return sum(getattr(event, count) for event in events)


def _numbered(
    row: Any, after: _After, events: Iterable[Event]
) -> list[tuple[int, int, str, int | None, str | None]]:
    """Each with the job's state and counts as it left them, so that a replay shows them again."""
    made: list[tuple[int, int, str, int | None, str | None]] = []
    state, done, failed = row.state, row.done, row.failed
    cancelled, total = row.cancelled, row.total
    for n, event in enumerate(events, row.last_event + 1):
        done, failed = done + event.done, failed + event.failed
        cancelled, total = cancelled + event.cancelled, total + event.total
        state = _state_after(event, state, after)
        data = event.data | {"job": [state, done, failed, cancelled, total]}
        made.append((row.id, n, event.name, event.page_id, orjson.dumps(data).decode()))
    return made


def _state_after(event: Event, before: str, after: _After) -> str:
    match event.name:
        case "job_started":
            return JobState.RUNNING
        case "job_finished":
            return after.state
        case "job_retried" if before not in COUNTED_STATES:
            return JobState.QUEUED
    return before


_CACHED = Statement("UPDATE jobs SET cached = cached + :cached WHERE id = :job_id")


def count_cached(connection: Connection, job_id: int, cached: int) -> None:
    """So many more of the job's pages came from the store."""
    _CACHED(connection, job_id=job_id, cached=cached)
