"""How a job went: its duration, the retries and the peak memory of its pages, and its last failures
with their tracebacks. Reads a bounded part of a large job."""

from typing import NamedTuple

from curtsy.jobs.job import Job
from curtsy.store import Connection, Statement

MOST_PAGES = 1_000
"""The first pages of a job whose attempts are read."""
MOST_FAILURES = 5

_OF_JOB = """
    FROM (SELECT page_id, ended_at FROM items WHERE job_id = :job_id AND NOT cached
          ORDER BY position LIMIT :pages) i
    JOIN attempts a ON a.page_id = i.page_id
         AND a.ended_at >= :since AND a.started_at <= coalesce(i.ended_at, :now)
"""
"""The attempts at the job's pages while the job waited for them, whichever job caused them."""
_SUMS = Statement(
    f"""
    SELECT count(*) AS attempts, max(a.memory) AS memory, max(a.ended_at - a.started_at) AS longest,
           coalesce(sum(CASE WHEN a.attempt > 1 THEN 1 ELSE 0 END), 0) AS retries
    {_OF_JOB}
    """
)
_FAILURES = Statement(
    f"""
    SELECT a.page_id, a.attempt, a.url, a.kind, a.error, a.traceback, a.memory, a.started_at,
           a.ended_at
    {_OF_JOB} WHERE a.outcome = 'failed' ORDER BY a.ended_at DESC, a.page_id DESC LIMIT :failures
    """
)


class FailedAttempt(NamedTuple):
    page_id: int
    attempt: int
    url: str | None
    kind: str | None
    error: str | None
    traceback: str | None
    memory: int | None
    started_at: int
    ended_at: int


class Performance(NamedTuple):
    duration: int | None
    """Milliseconds from the first start of a page to the end, or to now; None: none has started."""
    attempts: int
    retries: int
    longest_attempt: int | None
    peak_memory: int | None
    """Bytes, of the process that parsed a page; None: no page was parsed."""
    is_capped: bool
    """The job has more pages than were looked at."""
    failures: list[FailedAttempt]
    """The newest, at most five."""


def read_performance(connection: Connection, job: Job, *, now: int) -> Performance:
    of = {"job_id": job.id, "pages": MOST_PAGES, "since": job.created_at, "now": now}
    sums = _SUMS(connection, **of).one()
    return Performance(
        duration=None if job.started_at is None else (job.finished_at or now) - job.started_at,
        attempts=sums.attempts, retries=int(sums.retries), longest_attempt=sums.longest,
        peak_memory=sums.memory, is_capped=job.total > MOST_PAGES,
        failures=[FailedAttempt._make(row) for row in
                  _FAILURES(connection, **of, failures=MOST_FAILURES).tuples()],
    )  # fmt: skip
