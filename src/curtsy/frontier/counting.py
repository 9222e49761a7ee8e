"""Jobs count their items; their events are numbered by the same UPDATE that counts.

So the numbers of a job's events have no gaps and follow the order of commits, and the item that
ends last also ends the job.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from curtsy.model.jobs import JobState, final_state
from curtsy.store import Connection, Statement


@dataclass(frozen=True, slots=True)
class Event:
    name: str
    page_id: int | None = None
    data: dict[str, Any] | None = None


@dataclass(slots=True)
class Change:
    """What a transaction does to one job."""

    done: int = 0
    failed: int = 0
    cancelled: int = 0
    reopened: bool = False
    started: bool = False
    events: list[Event] = field(default_factory=list)


class Changes(defaultdict[int, Change]):
    """By job id."""

    def __init__(self) -> None:
        super().__init__(Change)


_LOCK = Statement(
    """
    SELECT id, state, total, done, failed, cancelled, last_event, round FROM jobs
    WHERE id IN (SELECT id FROM {wanted}) ORDER BY id {lock}
    """,
    wanted={"id": "bigint"},
)
_UPDATE = Statement(
    """
    UPDATE jobs SET state = c.state, done = c.done, failed = c.failed, cancelled = c.cancelled,
        last_event = c.last_event, round = c.round, updated_at = :now,
        started_at = CASE WHEN c.started THEN coalesce(jobs.started_at, :now)
                          ELSE jobs.started_at END,
        paused_at = CASE WHEN c.finished THEN NULL ELSE jobs.paused_at END,
        finished_at = CASE WHEN c.finished THEN :now WHEN c.reopened THEN NULL
                           ELSE jobs.finished_at END
    FROM (SELECT * FROM {changed}) c WHERE jobs.id = c.id
    """,
    changed={"id": "bigint", "state": "text", "done": "int", "failed": "int", "cancelled": "int",
             "last_event": "bigint", "round": "int", "started": "bool", "finished": "bool",
             "reopened": "bool"},
)  # fmt: skip
_INSERT_EVENTS = Statement(
    """
    INSERT INTO events (xid, job_id, n, at, name, page_id, data)
    SELECT {xid}, job_id, n, :now, name, page_id, data FROM {made} WHERE true
    """,
    made={"job_id": "bigint", "n": "bigint", "name": "text", "page_id": "bigint", "data": "text"},
)


def count(connection: Connection, changes: Changes, *, now: int) -> list[int]:
    """Apply the changes; returns the jobs that ended. The items were changed before this."""
    if not changes:
        return []
    rows = list(_LOCK(connection, wanted=[(job_id,) for job_id in sorted(changes)]))
    changed, made, finished = [], [], []
    for row in rows:
        change = changes[row.id]
        after = _after(row, change)
        if after.finished:
            finished.append(row.id)
            change.events.append(_finished_event(after))
        made += _numbered(row.id, row.last_event, change.events)
        changed.append((
            row.id, after.state, after.done, after.failed, after.cancelled,
            row.last_event + len(change.events), after.round, after.started, after.finished,
            change.reopened,
        ))  # fmt: skip
    _UPDATE(connection, changed=changed, now=now)
    record_events(connection, made, now=now)
    return finished


def record_events(connection: Connection, made: Sequence[tuple[Any, ...]], *, now: int) -> None:
    if made:
        _INSERT_EVENTS(connection, made=made, now=now)


@dataclass(frozen=True, slots=True)
class _After:
    state: str
    done: int
    failed: int
    cancelled: int
    total: int
    round: int
    started: bool
    finished: bool


def _after(row: Any, change: Change) -> _After:
    done, failed = row.done + change.done, row.failed + change.failed
    cancelled = row.cancelled + change.cancelled
    was_open = row.state in (JobState.QUEUED, JobState.RUNNING)
    reopened = change.reopened and not was_open
    is_open = was_open or reopened
    finished = is_open and done + failed + cancelled == row.total
    started = change.started or change.done > 0 or change.failed > 0
    if started and row.state == JobState.QUEUED:
        change.events.insert(0, Event("job_started"))
    if finished:
        state: str = final_state(total=row.total, failed=failed, cancelled=cancelled)
    elif reopened:
        state = JobState.QUEUED
    elif is_open and started:
        state = JobState.RUNNING
    else:
        state = row.state
    number = row.round + 1 if reopened else row.round
    return _After(state, done, failed, cancelled, row.total, number, started, finished)


def _finished_event(after: _After) -> Event:
    data = {"state": after.state, "done": after.done, "failed": after.failed,
            "cancelled": after.cancelled, "total": after.total, "round": after.round}  # fmt: skip
    return Event("job_finished", data=data)


def _numbered(
    job_id: int, last_event: int, events: Iterable[Event]
) -> list[tuple[int, int, str, int | None, str | None]]:
    return [
        (job_id, n, e.name, e.page_id, orjson.dumps(e.data).decode() if e.data else None)
        for n, e in enumerate(events, last_event + 1)
    ]
