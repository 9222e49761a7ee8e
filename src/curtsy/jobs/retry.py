"""Retries the failures of a job: the job begins another round, and its other results stay."""

from curtsy.access.quota import Quotas
from curtsy.errors import NotFound, WrongState
from curtsy.frontier.reopen import OldItem, reopen
from curtsy.model.job_states import OPEN_STATES
from curtsy.store import Connection, Statement

_FIND = Statement("SELECT id, state FROM jobs WHERE public_id = :job")
_FAILED = Statement(
    """
    SELECT i.job_id, i.position, i.page_id, i.priority, h.source_id, i.depth, i.uses
    FROM items i
    JOIN pages p ON p.id = i.page_id JOIN hosts h ON h.host = p.host
    WHERE i.job_id = :job_id AND i.state = 2 ORDER BY i.position
    """
)


def retry_failures(connection: Connection, job: str, *, now: int, key_id: int | None = None) -> int:
    """Retries the failed pages and returns how many; they count in the quotas of the key. Raises
    when the job has no failures."""
    quotas = Quotas(connection, [] if key_id is None else [key_id], now=now)
    found = _FIND(connection, job=job).one_or_none()
    if found is None:
        raise NotFound("job", job)
    failed = [OldItem._make(row) for row in _FAILED(connection, job_id=found.id)]
    reopened = reopen(connection, failed, now=now)
    if not reopened.items:
        raise WrongState(f"Job {job}", f"{found.state} without failures", "retried")
    quotas.spend(key_id, reopened.items, opens=found.state not in OPEN_STATES)
    quotas.record(connection)
    return reopened.items
