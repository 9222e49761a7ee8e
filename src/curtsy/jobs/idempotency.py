"""Keys under which a request that is made again finds the job of the first."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from curtsy.errors import BadRequest, Refused, WrongState
from curtsy.events.webhooks import insert_deliveries
from curtsy.jobs.insert import insert_tags
from curtsy.jobs.request import Claim, JobRequest
from curtsy.store import Connection, Statement

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
_WINNER = Statement(
    """
    SELECT s.request_hash, j.public_id, j.total, j.cached, j.created_at, j.webhook_url
    FROM submissions s JOIN jobs j ON j.public_id = s.job WHERE s.key = :key
    """
)
_PASS_ON = Statement("UPDATE submissions SET job = :to WHERE key = :key AND job = :job")
_GIVE_BACK = Statement("DELETE FROM submissions WHERE key = :key AND job = :job")
_DELETE_EXPIRED = Statement(  # checks twice: a row may be claimed anew between the two
    """
    DELETE FROM submissions WHERE expires_at <= :now AND key IN (
        SELECT key FROM submissions WHERE expires_at <= :now ORDER BY expires_at LIMIT :most)
    """
)
_EXISTING = Statement(
    """
    SELECT j.public_id, j.total, j.cached FROM {wanted}
    JOIN jobs j ON j.public_id = wanted.job
    """,
    wanted={"job": "text"},
)


class OtherHook(WrongState):
    def __init__(self, job: str) -> None:
        Refused.__init__(
            self,
            f"The same was asked for as {job}, which tells another webhook_url of its end: with "
            "ignore_cache this is a job of its own.",
        )


OF_CLIENTS = "idem:"
"""How keys begin that clients chose: none of them can be one that we made."""


class Submitted(NamedTuple):
    job: str
    total: int
    cached: int
    repeated: bool = False
    """The same request was made before; this is its job."""
    created_at: int | None = None
    """Of a repeated one: when that was."""
    replayed: bool = False
    """By the same key of the client's."""

    @property
    def new(self) -> int:
        return self.total - self.cached


def claims_of(request: JobRequest, lifetime: int) -> list[Claim]:
    """Each user has keys of its own; `lifetime` is that of an idempotency key."""
    claims = [request.same_as] if request.same_as is not None else []
    if request.idempotency_key is not None:
        key = f"{OF_CLIENTS}{request.user_id or ''}:{request.idempotency_key}"
        claims.insert(0, Claim(key, lifetime, request.request_hash))
    return claims


def keys_of(request: JobRequest) -> list[str]:
    return [claim.key for claim in claims_of(request, 0)]


def winner(
    connection: Connection, request: JobRequest, job: str, *, lifetime: int, now: int
) -> Submitted | None:
    """The job that already has one of the keys; None: all are this job's now."""
    ours: list[str] = []
    for claim in claims_of(request, lifetime):
        first = _first(connection, claim, job, now)
        if first is None:
            ours.append(claim.key)
            continue
        if first.request_hash != claim.request_hash:
            raise BadRequest(
                [f"Idempotency-Key {request.idempotency_key!r} was used for another request."]
            )
        require_same_hook(first.public_id, first.webhook_url, request.webhook_url)
        for key in ours:
            _PASS_ON(connection, key=key, job=job, to=first.public_id)
        return Submitted(first.public_id, first.total, first.cached, repeated=True,
                         created_at=first.created_at,
                         replayed=claim.key.startswith(OF_CLIENTS))  # fmt: skip
    return None


def require_same_hook(job: str, known: str | None, wanted: str | None) -> None:
    """Whom a job tells of its end is not changed by one who asks for the same again."""
    if known and wanted and known != wanted:
        raise OtherHook(job)


def _first(connection: Connection, claim: Claim, job: str, now: int) -> Any:
    claimed = _CLAIM_KEY(
        connection, key=claim.key, job=job, request_hash=claim.request_hash,
        expires_at=now + claim.lifetime, now=now, renews=claim.renews, succeeds=claim.succeeds,
    )  # fmt: skip
    if claimed.scalar() is not None:
        return None
    return _WINNER(connection, key=claim.key).one_or_none()


def give_back(connection: Connection, request: JobRequest, job: str) -> None:
    """The keys that this job has: it was refused after all."""
    for key in keys_of(request):
        _GIVE_BACK(connection, key=key, job=job)


def existing(connection: Connection, jobs: Sequence[str]) -> dict[str, Submitted]:
    """Those of the jobs that were taken in already."""
    rows = _EXISTING(connection, wanted=[(job,) for job in jobs])
    return {row.public_id: Submitted(row.public_id, row.total, row.cached) for row in rows}


_RELEASE = Statement("DELETE FROM submissions WHERE job = :job")


def release_keys(connection: Connection, job: str) -> None:
    """The next request under a key of this job makes a new job."""
    _RELEASE(connection, job=job)


def delete_expired(connection: Connection, *, now: int, most: int) -> int:
    """Deletes at most `most` keys whose lifetime is over; returns how many."""
    return int(_DELETE_EXPIRED(connection, now=now, most=most).rowcount)


_LOCK = Statement(
    """
    SELECT id, public_id, webhook_url, round, finished_at FROM jobs
    WHERE public_id IN (SELECT job FROM {wanted}) ORDER BY id {lock}
    """,
    wanted={"job": "text"},
)
_HOOK = Statement(
    """
    UPDATE jobs SET webhook_url = w.url FROM (SELECT * FROM {wanted}) w WHERE jobs.id = w.job_id
    """,
    wanted={"job_id": "bigint", "url": "text"},
)


def adopt(connection: Connection, repeated: Sequence[tuple[str, JobRequest]], *, now: int) -> None:
    """Of jobs, each with the request that found it. One that has ended already tells of that at
    once. Raises where somebody else was quicker with another webhook."""
    wishes = [(job, of) for job, of in repeated if of.webhook_url or of.tags]
    if not wishes:
        return
    jobs = {row.public_id: row for row in
            _LOCK(connection, wanted=[(job,) for job in {job for job, _of in wishes}])}  # fmt: skip
    there = [(jobs[job], of) for job, of in wishes if job in jobs]
    hooks = _new_hooks(there)
    if hooks:
        _HOOK(connection, wanted=[(row.id, url) for row, url in hooks])
    insert_deliveries(connection, [
        (row.id, row.round, url) for row, url in hooks if row.finished_at is not None
    ], now=now)  # fmt: skip
    tags = [(tag, row.id) for row, of in there for tag in of.tags]
    insert_tags(connection, tags)


def _new_hooks(there: Sequence[tuple[Any, JobRequest]]) -> list[tuple[Any, str]]:
    new: dict[int, tuple[Any, str]] = {}
    for row, of in there:
        known = row.webhook_url or (new[row.id][1] if row.id in new else None)
        require_same_hook(row.public_id, known, of.webhook_url)
        if known is None and of.webhook_url is not None:
            new[row.id] = row, of.webhook_url
    return list(new.values())
