"""Idempotency: a request that is made again under the same key finds the job of the first."""

from collections.abc import Sequence
from typing import NamedTuple

from curtsy.errors import BadRequest, Refused, WrongState
from curtsy.events.webhooks import insert_deliveries
from curtsy.jobs.insert import insert_tags
from curtsy.jobs.job_request import Claim, JobRequest
from curtsy.store import Connection, Statement

CLIENT_PREFIX = "idem:"
"""The prefix of keys that clients chose: no such key equals one that the service built."""

_CLAIM_KEY = Statement(
    """
    INSERT INTO submissions (key, job, request_hash, expires_at)
    VALUES (:key, :job, :request_hash, :expires_at)
    ON CONFLICT (key) DO UPDATE SET job = excluded.job, request_hash = excluded.request_hash,
        expires_at = excluded.expires_at
    WHERE submissions.expires_at <= :now OR :renews
       OR (:succeeds AND EXISTS (SELECT 1 FROM jobs j WHERE j.public_id = submissions.job
                                 AND j.state IN ('failed', 'cancelled')))
    RETURNING job
    """
)
_FIRST_JOB = Statement(
    """
    SELECT s.request_hash, j.public_id, j.total, j.cached, j.created_at, j.webhook_url
    FROM submissions s JOIN jobs j ON j.public_id = s.job WHERE s.key = :key
    """
)
_MOVE_KEY = Statement("UPDATE submissions SET job = :to WHERE key = :key AND job = :job")
_RELEASE_KEY = Statement("DELETE FROM submissions WHERE key = :key AND job = :job")
_DELETE_EXPIRED = Statement(  # checks the lifetime twice: a row may be claimed again in between
    """
    DELETE FROM submissions WHERE expires_at <= :now AND key IN (
        SELECT key FROM submissions WHERE expires_at <= :now ORDER BY expires_at LIMIT :most)
    """
)
_EXISTING = Statement(  # a commit after a lock waits for the standby, as that of the job did
    """
    SELECT public_id, total, cached FROM jobs WHERE public_id IN (SELECT job FROM {wanted})
    ORDER BY id {lock}
    """,
    wanted={"job": "text"},
)
_RELEASE_KEYS_OF_JOB = Statement("DELETE FROM submissions WHERE job = :job")
_LOCK_JOBS = Statement(
    """
    SELECT id, public_id, webhook_url, round, finished_at FROM jobs
    WHERE public_id IN (SELECT job FROM {wanted}) ORDER BY id {lock}
    """,
    wanted={"job": "text"},
)
_SET_WEBHOOKS = Statement(
    """
    UPDATE jobs SET webhook_url = w.url FROM (SELECT * FROM {wanted}) w WHERE jobs.id = w.job_id
    """,
    wanted={"job_id": "bigint", "url": "text"},
)


class OtherWebhook(WrongState):
    def __init__(self, job: str) -> None:
        Refused.__init__(
            self,
            f"The same request exists as job {job}, which reports its end to another webhook_url. "
            "Set ignore_cache to create a separate job.",
        )


class Submitted(NamedTuple):
    job: str
    total: int
    cached: int
    repeated: bool = False
    """The same request was made before; this is its job."""
    created_at: int | None = None
    """When the job of a repeated request was created."""
    replayed: bool = False
    """The request was repeated under the same key of the client."""

    @property
    def new(self) -> int:
        return self.total - self.cached


class _FirstJob(NamedTuple):
    """The job that has a key already."""

    request_hash: str
    job: str
    total: int
    cached: int
    created_at: int
    webhook_url: str | None


class _LockedJob(NamedTuple):
    id: int
    job: str
    webhook_url: str | None
    round: int
    finished_at: int | None


def keys_of(request: JobRequest) -> list[str]:
    return [claim.key for claim in _claims_of(request, 0)]


def claim_keys(
    connection: Connection, request: JobRequest, job: str, *, lifetime: int, now: int
) -> Submitted | None:
    """Claims the keys of the request for this job. Returns the job that already has one of the
    keys; None: all keys belong to this job now. `lifetime` is that of an idempotency key."""
    claimed: list[str] = []
    for claim in _claims_of(request, lifetime):
        first = _claim(connection, claim, job, now)
        if first is None:
            claimed.append(claim.key)
            continue
        if first.request_hash != claim.request_hash:
            raise BadRequest(
                [f"Idempotency-Key {request.idempotency_key!r} was used for another request."]
            )
        _require_same_webhook(first.job, first.webhook_url, request.webhook_url)
        for key in claimed:
            _MOVE_KEY(connection, key=key, job=job, to=first.job)
        return Submitted(first.job, first.total, first.cached, repeated=True,
                         created_at=first.created_at,
                         replayed=claim.key.startswith(CLIENT_PREFIX))  # fmt: skip
    return None


def release_claims(connection: Connection, request: JobRequest, job: str) -> None:
    """Releases the keys that this job claimed for a request that was refused after all."""
    for key in keys_of(request):
        _RELEASE_KEY(connection, key=key, job=job)


def release_keys(connection: Connection, job: str) -> None:
    """Releases all keys of a job: the next request under one of them creates a new job."""
    _RELEASE_KEYS_OF_JOB(connection, job=job)


def existing(connection: Connection, jobs: Sequence[str]) -> dict[str, Submitted]:
    """Returns the jobs that were admitted already."""
    rows = _EXISTING(connection, wanted=[(job,) for job in jobs])
    return {row.public_id: Submitted(row.public_id, row.total, row.cached) for row in rows}


def add_webhooks_and_tags(
    connection: Connection, repeated: Sequence[tuple[str, JobRequest]], *, now: int
) -> None:
    """Adds the webhook and the tags of repeated requests to the jobs that they found. A job that
    has ended reports its end to the new webhook at once. Raises when another request has set
    another webhook in the meantime."""
    adding = [(job, request) for job, request in repeated if request.webhook_url or request.tags]
    if not adding:
        return
    wanted = [(job,) for job in {job for job, _request in adding}]
    jobs = {row.public_id: _LockedJob._make(row) for row in _LOCK_JOBS(connection, wanted=wanted)}
    found = [(jobs[job], request) for job, request in adding if job in jobs]
    webhooks = _new_webhooks(found)
    if webhooks:
        _SET_WEBHOOKS(connection, wanted=[(job.id, url) for job, url in webhooks])
    insert_deliveries(connection, [
        (job.id, job.round, url) for job, url in webhooks if job.finished_at is not None
    ], now=now)  # fmt: skip
    insert_tags(connection, [(tag, job.id) for job, request in found for tag in request.tags])


def delete_expired(connection: Connection, *, now: int, most: int) -> int:
    """Deletes at most `most` keys whose lifetime is over; returns how many."""
    return int(_DELETE_EXPIRED(connection, now=now, most=most).rowcount)


def _claims_of(request: JobRequest, lifetime: int) -> list[Claim]:
    """The client's keys are separate for each user."""
    claims = [request.same_as] if request.same_as is not None else []
    if request.idempotency_key is not None:
        key = f"{CLIENT_PREFIX}{request.user_id or ''}:{request.idempotency_key}"
        claims.insert(0, Claim(key, lifetime, request.request_hash))
    return claims


def _claim(connection: Connection, claim: Claim, job: str, now: int) -> _FirstJob | None:
    """Claims a key. Returns the job that has the key already; None: the key is this job's."""
    claimed = _CLAIM_KEY(
        connection, key=claim.key, job=job, request_hash=claim.request_hash,
        expires_at=now + claim.lifetime, now=now, renews=claim.renews, succeeds=claim.succeeds,
    )  # fmt: skip
    if claimed.scalar() is not None:
        return None
    row = _FIRST_JOB(connection, key=claim.key).one_or_none()
    return _FirstJob._make(row) if row is not None else None


def _new_webhooks(found: Sequence[tuple[_LockedJob, JobRequest]]) -> list[tuple[_LockedJob, str]]:
    new: dict[int, tuple[_LockedJob, str]] = {}
    for job, request in found:
        known = job.webhook_url or (new[job.id][1] if job.id in new else None)
        _require_same_webhook(job.job, known, request.webhook_url)
        if known is None and request.webhook_url is not None:
            new[job.id] = job, request.webhook_url
    return list(new.values())


def _require_same_webhook(job: str, known: str | None, wanted: str | None) -> None:
    """A repeated request does not replace the webhook of a job."""
    if known and wanted and known != wanted:
        raise OtherWebhook(job)
