"""How a job went."""

from pydantic import BaseModel

from curtsy.clock import SECOND, rfc3339
from curtsy.jobs.performance import FailedAttempt
from curtsy.jobs.performance import Performance as StoredPerformance
from curtsy.model.failure_kinds import Kind
from curtsy.model.job_states import page_name


class Failure(BaseModel):
    """An attempt at a page of the job that failed."""

    page: str
    """`GET /pages/{id}` shows all its attempts."""
    url: str | None
    attempt: int
    """1 is the first; others are retries."""
    kind: Kind | None
    error: str | None
    traceback: str | None
    """Of a scraper; null for callers who see only their own jobs."""
    memory_bytes: int | None
    duration_ms: int
    ended_at: str


class Performance(BaseModel):
    job_id: str
    duration_seconds: float | None
    """From the start of the job's first page to its end, or to now; null: none has started."""
    attempts: int
    """Requests for pages of the job while it waited for them."""
    retries: int
    """Those of them that followed a failure."""
    longest_attempt_ms: int | None
    peak_memory_bytes: int | None
    """Of the processes that parsed its pages; null: none was parsed."""
    is_capped: bool
    """The job has more pages than were looked at, which are the first 1,000."""
    failures: list[Failure]
    """The newest first, at most 5."""


def performance_of(job: str, found: StoredPerformance, *, confined: bool) -> Performance:
    """`confined`: the caller sees only jobs of its own."""
    return Performance(
        job_id=job,
        duration_seconds=None if found.duration is None else found.duration / SECOND,
        attempts=found.attempts, retries=found.retries, longest_attempt_ms=found.longest_attempt,
        peak_memory_bytes=found.peak_memory, is_capped=found.is_capped,
        failures=[_failure(one, confined=confined) for one in found.failures],
    )  # fmt: skip


def _failure(row: FailedAttempt, *, confined: bool) -> Failure:
    return Failure(
        page=page_name(row.page_id), url=row.url, attempt=row.attempt,
        kind=None if row.kind is None else Kind(row.kind), error=row.error,
        traceback=None if confined else row.traceback, memory_bytes=row.memory,
        duration_ms=row.ended_at - row.started_at, ended_at=rfc3339(row.ended_at),
    )  # fmt: skip
