"""Creates a schedule together with the job of its first slot, which waits in state scheduled."""

from contextlib import suppress
from typing import NamedTuple

import orjson

from curtsy.errors import NotFound
from curtsy.jobs import JobRequest, SubmitLimits
from curtsy.jobs.idempotency import add_webhooks_and_tags, claim_keys, release_keys
from curtsy.jobs.insert import insert_scheduled
from curtsy.model.job_states import new_job_id
from curtsy.schedules.lookup import Schedule, locked
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
_WITH_JOB_PURGED = Statement(  # its job and keys are deleted; such a schedule is named by its id
    """
    SELECT s.public_id FROM schedules s
    WHERE s.owner = :owner AND s.rule = :rule AND s.payload = :payload AND s.name = s.public_id
      AND s.created_at > :since AND NOT EXISTS (
        SELECT 1 FROM jobs j WHERE j.public_id = s.first_job AND j.state = 'scheduled')
    ORDER BY s.id LIMIT 1
    """
)
_SET_FIRST_JOB = Statement("UPDATE schedules SET first_job = :job WHERE id = :id")


class ScheduledJob(NamedTuple):
    job: str
    schedule: str
    next_at: int | None
    """None: the schedule is paused, or has no slot left."""
    repeated_at: int | None = None
    """When the same request was first submitted."""
    replayed: bool = False
    """The client repeated its idempotency key."""


def create_with_job(
    connection: Connection,
    spec: ScheduleSpec,
    request: JobRequest,
    limits: SubmitLimits,
    *,
    now: int,
) -> ScheduledJob:
    """Creates a schedule and its first job, or returns those that the same request created a short
    while ago."""
    job, name = new_job_id(), new_schedule_id()
    former = _former(connection, spec, request, now)
    first = claim_keys(connection, request, job, lifetime=limits.key_lifetime, now=now)
    if first is not None:
        known = _OF_JOB(connection, job=first.job).one()
        if known.schedule is not None:
            _store_webhook(connection, known.schedule, request)
            add_webhooks_and_tags(connection, [(known.job, request)], now=now)
            return ScheduledJob(
                known.job, known.schedule, known.next_fire_at, known.created_at, first.replayed
            )
        release_keys(connection, first.job)  # its schedule was removed: a new one is created
        claim_keys(connection, request, job, lifetime=limits.key_lifetime, now=now)
    row = _reusable(connection, former, spec) if former is not None else None
    if row is not None:
        _SET_FIRST_JOB(connection, id=row.id, job=job)
    else:
        row = create(connection, spec, now=now, first_job=job, public_id=name)
    assert row.next_fire_at is not None  # enabled, and a rule without slots is refused
    insert_scheduled(connection, job, request, schedule_id=row.id, due_at=row.next_fire_at, now=now)
    return ScheduledJob(job, row.public_id, row.next_fire_at)


def _former(
    connection: Connection, spec: ScheduleSpec, request: JobRequest, now: int
) -> str | None:
    """Returns the schedule that the same request created, although its job has failed, was
    cancelled or purged since. To be called before the key is claimed: a claim overwrites the id of
    the old job."""
    claim = request.same_as
    if claim is None or claim.renews:
        return None
    found: str | None = _FORMER(connection, key=claim.key, now=now).scalar()
    if found is None:
        found = _WITH_JOB_PURGED(
            connection, owner=spec.user_id or "", rule=to_json(spec.rule),
            payload=orjson.dumps(spec.payload).decode(), since=now - claim.lifetime,
        ).scalar()  # fmt: skip
    return found


def _reusable(connection: Connection, schedule: str, spec: ScheduleSpec) -> Schedule | None:
    """Locks and returns the schedule if it still equals the spec and has a next slot: then that
    slot gets the new job, and no second schedule is created."""
    with suppress(NotFound):  # just removed
        row = locked(connection, schedule)
        same = row.rule == to_json(spec.rule) and orjson.loads(row.payload) == spec.payload
        return row if same and row.enabled and row.next_fire_at is not None else None
    return None


def _store_webhook(connection: Connection, schedule: str, request: JobRequest) -> None:
    """Adds the webhook that the first job gets to the payload, for the jobs of later slots."""
    payload = orjson.loads(_PAYLOAD(connection, schedule=schedule).scalar_one())
    crawl = payload.get("crawl")
    if crawl is None or request.webhook_url is None or crawl.get("webhook_url"):
        return
    crawl["webhook_url"] = request.webhook_url
    _SET_PAYLOAD(connection, schedule=schedule, payload=orjson.dumps(payload).decode())
