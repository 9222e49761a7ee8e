"""Jobs as their screens read them: a fixed number of statements, however many are asked for."""

from collections.abc import Mapping, Sequence
from typing import Any

from curtsy.errors import NotFound
from curtsy.store import Connection, Statement

Tagged = tuple[Any, list[str]]
"""A job and its tags."""

_JOB = """
    SELECT j.id, j.public_id, j.door, j.state, j.total, j.done, j.failed, j.cancelled, j.cached,
           j.name, j.paused_at, j.created_at, j.updated_at, j.finished_at, j.round,
           j.last_event, j.started_at, j.scraper, j.user_id, j.finish_by, j.due_at,
           j.trigger, j.message, s.public_id AS schedule, s.next_fire_at, c.max_pages,
           coalesce(i.url, p.url) AS url, i.error
    FROM {jobs} LEFT JOIN items i ON i.job_id = j.id AND i.position = 0
    LEFT JOIN pages p ON p.id = i.page_id
    LEFT JOIN schedules s ON s.id = j.schedule_id
    LEFT JOIN crawls c ON c.job_id = j.id AND j.door = 'runs'
    """
_NAMED = Statement(
    _JOB.format(jobs="(SELECT job FROM {wanted}) w JOIN jobs j ON j.public_id = w.job"),
    wanted={"job": "text"},
)
_LISTED = _JOB.format(jobs="(SELECT id FROM {wanted}) w JOIN jobs j ON j.id = w.id")
_SHOWN = Statement(
    f"{_LISTED} ORDER BY j.created_at DESC, j.id DESC",
    wanted={"id": "bigint"},
)
_CONTENT = Statement(
    """
    SELECT i.fetched_at, d.content, d.content_type, d.charset, d.bytes
    FROM items i LEFT JOIN documents d ON d.page_id = i.page_id AND d.version = i.document_version
    WHERE i.job_id = :job_id AND i.position = 0
    """
)
_TAGS = Statement(
    "SELECT t.job_id, t.tag FROM {wanted} JOIN job_tags t ON t.job_id = wanted.id ORDER BY t.tag",
    wanted={"id": "bigint"},
)
_LIVE_WORKERS = Statement("SELECT count(*) FROM workers WHERE lease_until > :now")


def read_jobs(connection: Connection, jobs: Sequence[str]) -> Mapping[str, Tagged]:
    """Those of the jobs that there are, each with its first item."""
    rows = list(_NAMED(connection, wanted=[(job,) for job in set(jobs)]))
    tags = tags_of(connection, [row.id for row in rows])
    return {row.public_id: (row, tags[row.id]) for row in rows}


def read_whole(connection: Connection, job: str) -> tuple[Any, list[str], Any]:
    """The job, its tags, and if it is of the fetch door the document of its one item."""
    found = read_jobs(connection, [job]).get(job)
    if found is None:
        raise NotFound("job", job)
    row, tags = found
    return row, tags, _CONTENT(connection, job_id=row.id).one() if row.door == "fetch" else None


def tags_of(connection: Connection, job_ids: Sequence[int]) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {job_id: [] for job_id in job_ids}
    for row in _TAGS(connection, wanted=[(i,) for i in job_ids]) if job_ids else ():
        found[row.job_id].append(row.tag)
    return found


def shown(connection: Connection, job_ids: Sequence[int]) -> list[Tagged]:
    """Newest first."""
    rows = list(_SHOWN(connection, wanted=[(i,) for i in job_ids])) if job_ids else []
    tags = tags_of(connection, [row.id for row in rows])
    return [(row, tags[row.id]) for row in rows]


def live_workers(connection: Connection, *, now: int) -> int:
    return int(_LIVE_WORKERS(connection, now=now).scalar_one())


_GATHERED = Statement("UPDATE jobs SET gathered_at = :now, message = :message WHERE id = :id")


def mark_gathered(connection: Connection, job_id: int, message: str | None, *, now: int) -> None:
    """The records of this run of a site were compared with those before."""
    _GATHERED(connection, id=job_id, now=now, message=message)
