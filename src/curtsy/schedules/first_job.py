"""A schedule that begins with a job: the job of its first slot is there at once, and waits."""

from contextlib import suppress
from typing import Any, NamedTuple

import orjson

from curtsy.errors import NotFound
from curtsy.jobs import JobRequest, SubmitLimits
from curtsy.jobs.idempotency import add_webhooks_and_tags, claim_keys, release_keys
from curtsy.jobs.insert import insert_scheduled
from curtsy.model.jobs import new_job_id
from curtsy.schedules.lookup import locked
from curtsy.schedules.schedule import ScheduleSpec, create, new_schedule_id
from curtsy.store import Connection, Statement
from curtsy.timetable import to_json

_OF_JOB = Statement(
    """
    SELECT j.public_id AS job, j.created_at, s.public_id AS schedule, s.next_fire_at
    FROM jobs j LEFT JOIN schedules s ON s.id = j.schedule_id WHERE j.public_id = :job
    """
)
_PAYLOAD = Statement("SELECT payload FROM schedules WHERE public_id = :schedule {lock}")
_SET_PAYLOAD = Statement("UPDATE schedules SET payload = :payload WHERE public_id = :schedule")
_FORMER = Statement(
    """
    SELECT s.public_id FROM submissions u JOIN jobs j ON j.public_id = u.job
    JOIN schedules s ON s.id = j.schedule_id WHERE u.key = :key AND u.expires_at > :now
    """
)
_PURGED = Statement(  # no job and no key tells of it any more; it is called by its id, as ours are
    """
    SELECT s.public_id FROM schedules s
    WHERE s.owner = :owner AND s.rule = :rule AND s.payload = :payload AND s.name = s.public_id
      AND s.created_at > :since AND NOT EXISTS (
        SELECT 1 FROM jobs j WHERE j.public_id = s.first_job AND j.state = 'scheduled')
    ORDER BY s.id LIMIT 1
    """
)
_TAKES = Statement("UPDATE schedules SET first_job = :job WHERE id = :id")


class ScheduledJob(NamedTuple):
    job: str
    schedule: str
    next_at: int | None
    """None: it is paused, or has no slot left."""
    repeated_at: int | None = None
    """When the same was asked for first."""
    replayed: bool = False
    """By the same key of the client's."""


def make(
    connection: Connection,
    spec: ScheduleSpec,
    request: JobRequest,
    limits: SubmitLimits,
    *,
    now: int,
) -> ScheduledJob:
    """Or the one that was made when the same was asked for a short while ago."""
    job, name = new_job_id(), new_schedule_id()
    former = _former(connection, spec, request, now)
    first = claim_keys(connection, request, job, lifetime=limits.key_lifetime, now=now)
    if first is not None:
        row: Any = _OF_JOB(connection, job=first.job).one()
        if row.schedule is not None:
            _tell_later_slots(connection, row, request)
            add_webhooks_and_tags(connection, [(row.job, request)], now=now)
            return ScheduledJob(
                row.job, row.schedule, row.next_fire_at, row.created_at, first.replayed
            )
        release_keys(connection, first.job)  # its schedule was removed: this is another
        claim_keys(connection, request, job, lifetime=limits.key_lifetime, now=now)
    row = _as_before(connection, former, spec) if former is not None else None
    if row is not None:
        _TAKES(connection, id=row.id, job=job)
    else:
        row = create(connection, spec, now=now, first_job=job, public_id=name)
    insert_scheduled(connection, job, request, schedule_id=row.id, due_at=row.next_fire_at, now=now)
    return ScheduledJob(job, row.public_id, row.next_fire_at)


def _former(
    connection: Connection, spec: ScheduleSpec, request: JobRequest, now: int
) -> str | None:
    """The schedule that was made when the same was asked for, though its job failed, was cancelled
    or purged since. Asked before the key is claimed: that takes the old job's name away."""
    claim = request.same_as
    if claim is None or claim.renews:
        return None
    found: str | None = _FORMER(connection, key=claim.key, now=now).scalar()
    if found is None:
        found = _PURGED(
            connection, owner=spec.user_id or "", rule=to_json(spec.rule),
            payload=orjson.dumps(spec.payload).decode(), since=now - claim.lifetime,
        ).scalar()  # fmt: skip
    return found


def _as_before(connection: Connection, schedule: str, spec: ScheduleSpec) -> Any:
    """Its row, held, if it still is what is asked for and its slots come: then its next slot gets
    the new job, and there is no second schedule beside it."""
    with suppress(NotFound):  # removed in this moment
        row = locked(connection, schedule)
        same = row.rule == to_json(spec.rule) and orjson.loads(row.payload) == spec.payload
        return row if same and row.enabled and row.next_fire_at is not None else None
    return None


def _tell_later_slots(connection: Connection, row: Any, request: JobRequest) -> None:
    """A webhook that the job of the first slot gets, those of later ones get, too."""
    payload = orjson.loads(_PAYLOAD(connection, schedule=row.schedule).scalar_one())
    crawl = payload.get("crawl")
    if crawl is None or request.webhook_url is None or crawl.get("webhook_url"):
        return
    crawl["webhook_url"] = request.webhook_url
    _SET_PAYLOAD(connection, schedule=row.schedule, payload=orjson.dumps(payload).decode())
