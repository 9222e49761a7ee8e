"""What the screens of jobs read: a fixed number of statements each, whatever there is."""

from collections.abc import Sequence
from typing import Any

from curtsy.errors import NotFound
from curtsy.model.jobs import JobState
from curtsy.store import Connection, Lookup, Statement

TOTAL_CAP = 10_000

_ONE = Statement(
    """
    SELECT j.public_id, j.door, j.state, coalesce(i.url, p.url) AS url, i.error, i.fetched_at,
           d.content, d.content_type, d.charset, d.bytes
    FROM jobs j JOIN items i ON i.job_id = j.id AND i.position = 0 JOIN pages p ON p.id = i.page_id
    LEFT JOIN documents d ON d.page_id = i.page_id AND d.version = i.document_version
    WHERE j.public_id = :job
    """
)
_NEWEST = Statement(
    "SELECT id, created_at FROM jobs ORDER BY created_at DESC, id DESC LIMIT :most OFFSET :skip"
)
_NEWEST_IN_STATE = Lookup(
    """
    SELECT id, created_at FROM jobs WHERE state = {each_state}
    ORDER BY created_at DESC, id DESC LIMIT :most
    """,
    each={"state": "text"},
)
_SHOWN = Statement(
    """
    SELECT j.public_id, j.door, j.state, j.created_at, coalesce(i.url, p.url) AS url, i.error
    FROM (SELECT id FROM {wanted}) w JOIN jobs j ON j.id = w.id
    JOIN items i ON i.job_id = j.id AND i.position = 0 JOIN pages p ON p.id = i.page_id
    ORDER BY j.created_at DESC, j.id DESC
    """,
    wanted={"id": "bigint"},
)
_COUNT = Statement("SELECT count(*) FROM (SELECT 1 FROM jobs LIMIT :most) AS counted")
_COUNT_IN_STATE = Lookup(
    """
    SELECT count(*) AS counted
    FROM (SELECT 1 FROM jobs WHERE state = {each_state} LIMIT :most) AS found_jobs
    """,
    each={"state": "text"},
)
_LIVE_WORKERS = Statement("SELECT count(*) FROM workers WHERE lease_until > :now")


def read_job(connection: Connection, job: str) -> Any:
    """The job with its one item and that item's document; raises when there is none."""
    row = _ONE(connection, job=job).one_or_none()
    if row is None:
        raise NotFound("job", job)
    return row


def list_jobs(
    connection: Connection, states: Sequence[JobState] | None, *, limit: int, skip: int
) -> tuple[list[Any], int]:
    """A page of the list, newest first, and how many there are, counted up to one over the cap."""
    if states is None:
        ids = [row.id for row in _NEWEST(connection, most=limit, skip=skip)]
        total = _COUNT(connection, most=TOTAL_CAP + 1).scalar_one()
    else:
        wished = [(str(state),) for state in states]
        found = _NEWEST_IN_STATE(connection, wished, most=limit + skip)
        found.sort(key=lambda row: (row.created_at, row.id), reverse=True)
        ids = [row.id for row in found[skip : skip + limit]]
        total = sum(row.counted for row in _COUNT_IN_STATE(connection, wished, most=TOTAL_CAP + 1))
    return list(_SHOWN(connection, wanted=[(i,) for i in ids])) if ids else [], total


def live_workers(connection: Connection, *, now: int) -> int:
    return int(_LIVE_WORKERS(connection, now=now).scalar_one())
