"""Inserts jobs and their tags. No other module does."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from curtsy.clock import rfc3339
from curtsy.events.stored_events import JobProgress, event_row, insert_events
from curtsy.jobs.job_request import MANUAL, JobRequest
from curtsy.model.job_states import JobState
from curtsy.store import Call, Connection, Statement

_INSERT = Statement(  # the job of a first slot exists already, and becomes queued
    """
    INSERT INTO jobs (public_id, door, user_id, name, scraper, params, webhook_url, finish_by,
                      schedule_id, trigger, site_id, search, state, total, due_at, last_event,
                      created_at, updated_at)
    SELECT public_id, door, user_id, name, scraper, params, webhook_url, finish_by,
           schedule_id, trigger, site_id, search, state, total, due_at, 1, :now, :now
    FROM {new} WHERE true
    ON CONFLICT (public_id) DO UPDATE SET state = 'queued', total = excluded.total,
        last_event = jobs.last_event + 1, updated_at = :now
    WHERE jobs.state = 'scheduled'
    RETURNING id, public_id, last_event
    """,
    new={"public_id": "text", "door": "text", "user_id": "text", "name": "text",
         "scraper": "text", "params": "text", "webhook_url": "text", "finish_by": "bigint",
         "schedule_id": "bigint", "trigger": "text", "site_id": "bigint", "search": "text",
         "state": "text", "total": "int", "due_at": "bigint"},
)  # fmt: skip
_INSERT_TAGS = Statement(  # a job that is requested again may have them already
    """
    INSERT INTO job_tags (tag, job_id) SELECT tag, job_id FROM {new} WHERE true
    ON CONFLICT (tag, job_id) DO NOTHING
    """,
    new={"tag": "text", "job_id": "bigint"},
)
_SET_DUE = Statement("UPDATE jobs SET due_at = :at WHERE public_id = :job AND state = 'scheduled'")


class NewJob(NamedTuple):
    job: str
    request: JobRequest
    total: int
    state: JobState = JobState.QUEUED
    schedule_id: int | None = None
    """None: the schedule of the request's origin."""
    due_at: int | None = None


class Inserted(NamedTuple):
    id: int
    last_event: int
    """The number of the job's first event in this transaction."""


def insert_jobs(
    connection: Connection, new: Iterable[NewJob], *, now: int
) -> Mapping[str, Inserted]:
    statement, values = job_call(new, now=now)
    return inserted_jobs(statement(connection, **values))


def job_call(new: Iterable[NewJob], *, now: int) -> Call:
    """Returns the call that inserts the jobs, for `together`; `inserted_jobs` reads its result."""
    return _INSERT, {"new": [_columns(job) for job in new], "now": now}


def inserted_jobs(rows: Iterable[Any]) -> Mapping[str, Inserted]:
    return {row.public_id: Inserted(row.id, row.last_event) for row in rows}


def insert_tags(connection: Connection, tags: Sequence[tuple[str, int]]) -> None:
    """Inserts pairs of a tag and a job id."""
    if tags:
        _INSERT_TAGS(connection, new=tags)


def insert_scheduled(
    connection: Connection, job: str, request: JobRequest, *, schedule_id: int, due_at: int,
    now: int,
) -> None:  # fmt: skip
    """Inserts the job of a schedule's first slot. The job waits for that slot."""
    new = NewJob(job, request, 0, JobState.SCHEDULED, schedule_id, due_at)
    job_id = insert_jobs(connection, [new], now=now)[job].id
    insert_tags(connection, [(tag, job_id) for tag in request.tags])
    progress = JobProgress(JobState.SCHEDULED, 0, 0, 0, 0)
    event = event_row(job_id, 1, "job_scheduled", {"due_at": rfc3339(due_at)}, progress)
    insert_events(connection, [event], now=now)


def set_due(connection: Connection, job: str, at: int | None) -> None:
    """Sets when a scheduled job is due; jobs in other states stay unchanged."""
    _SET_DUE(connection, job=job, at=at)


def _columns(new: NewJob) -> tuple[object, ...]:
    r, of = new.request, new.request.origin or MANUAL
    schedule_id, trigger = of.schedule_id, of.trigger
    if new.schedule_id is not None:
        schedule_id, trigger = new.schedule_id, "schedule"
    return (new.job, r.door, r.user_id, r.name, r.scraper, r.params, r.webhook_url, r.finish_by,
            schedule_id, trigger, of.site_id, of.search, new.state, new.total,
            new.due_at)  # fmt: skip
