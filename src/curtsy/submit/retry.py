"""Only a job's failures, again: it opens for another round, its other results stay as they are."""

from curtsy.errors import NotFound, WrongState
from curtsy.store import Connection, Statement
from curtsy.submit.reopening import OldItem, reopen

_FIND = Statement("SELECT id, state FROM jobs WHERE public_id = :job")
_FAILED = Statement(
    """
    SELECT i.job_id, i.position, i.page_id, i.priority, h.source_id, i.depth FROM items i
    JOIN pages p ON p.id = i.page_id JOIN hosts h ON h.host = p.host
    WHERE i.job_id = :job_id AND i.state = 2 ORDER BY i.position
    """
)


def retry_failures(connection: Connection, job: str, *, now: int) -> int:
    """How many pages wait again. Raises when the job has no failures."""
    found = _FIND(connection, job=job).one_or_none()
    if found is None:
        raise NotFound("job", job)
    failed = [OldItem._make(row) for row in _FAILED(connection, job_id=found.id)]
    reopened = reopen(connection, failed, now=now)
    if not reopened.items:
        raise WrongState(f"Job {job}", f"{found.state} without failures", "retried")
    return reopened.items
