"""Idempotency keys: a request made again finds the job of the first."""

from collections.abc import Sequence
from typing import NamedTuple

from curtsy.errors import BadRequest
from curtsy.store import Connection, Statement
from curtsy.submit.request import JobRequest

_CLAIM_KEY = Statement(
    """
    INSERT INTO submissions (key, job, request_hash, expires_at)
    VALUES (:key, :job, :request_hash, :expires_at)
    ON CONFLICT (key) DO UPDATE SET job = excluded.job, request_hash = excluded.request_hash,
        expires_at = excluded.expires_at
    WHERE submissions.expires_at <= :now
    RETURNING job
    """
)
_WINNER = Statement(
    """
    SELECT s.request_hash, j.public_id, j.total, j.cached
    FROM submissions s JOIN jobs j ON j.public_id = s.job WHERE s.key = :key
    """
)
_EXISTING = Statement(
    """
    SELECT j.public_id, j.total, j.cached FROM {wanted}
    JOIN jobs j ON j.public_id = wanted.job
    """,
    wanted={"job": "text"},
)


class Submitted(NamedTuple):
    job: str
    total: int
    cached: int
    repeated: bool = False
    """The same request was made before; this is its job."""

    @property
    def new(self) -> int:
        return self.total - self.cached


def key_of(request: JobRequest) -> str | None:
    """Each user has keys of its own."""
    if request.idempotency_key is None:
        return None
    return f"{request.user_id or ''}:{request.idempotency_key}"


def winner(
    connection: Connection, request: JobRequest, job: str, *, lifetime: int, now: int
) -> Submitted | None:
    """The job that already has this key; None: the key, if there is one, is now this job's."""
    key = key_of(request)
    if key is None:
        return None
    claimed = _CLAIM_KEY(connection, key=key, job=job, request_hash=request.request_hash,
                         expires_at=now + lifetime, now=now)  # fmt: skip
    if claimed.scalar() is not None:
        return None
    first = _WINNER(connection, key=key).one_or_none()
    if first is None:
        return None
    if first.request_hash != request.request_hash:
        raise BadRequest(
            [f"Idempotency-Key {request.idempotency_key!r} was used for another request."]
        )
    return Submitted(first.public_id, first.total, first.cached, repeated=True)


def existing(connection: Connection, jobs: Sequence[str]) -> dict[str, Submitted]:
    """Those of the jobs that were taken in already."""
    rows = _EXISTING(connection, wanted=[(job,) for job in jobs])
    return {row.public_id: Submitted(row.public_id, row.total, row.cached) for row in rows}
