"""Reads jobs for the API, in a fixed number of statements whatever the number of jobs."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from curtsy.errors import NotFound
from curtsy.store import Connection, Statement

_JOB = """
    SELECT j.id, j.public_id, j.door, j.state, j.total, j.done, j.failed, j.cancelled, j.cached,
           j.name, j.paused_at, j.created_at, j.updated_at, j.finished_at, j.round,
           j.last_event, j.started_at, j.scraper, j.user_id, j.finish_by, j.due_at,
           j.trigger, j.message, s.public_id AS schedule, s.name AS schedule_name,
           s.next_fire_at, coalesce(i.url, p.url) AS url, i.error,
           CASE WHEN j.state = 'scheduled' AND length(s.payload) <= 65536 THEN s.payload END
    FROM {jobs} LEFT JOIN items i ON i.job_id = j.id AND i.position = 0
    LEFT JOIN pages p ON p.id = i.page_id
    LEFT JOIN schedules s ON s.id = j.schedule_id
    """
_NAMED = Statement(
    _JOB.format(jobs="(SELECT job FROM {wanted}) w JOIN jobs j ON j.public_id = w.job"),
    wanted={"job": "text"},
)
_OF_IDS = _JOB.format(jobs="(SELECT id FROM {wanted}) w JOIN jobs j ON j.id = w.id")
_NEWEST_FIRST = Statement(
    f"{_OF_IDS} ORDER BY j.created_at DESC, j.id DESC",
    wanted={"id": "bigint"},
)
_RESULT = Statement(
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
_MARK_GATHERED = Statement("UPDATE jobs SET gathered_at = :now, message = :message WHERE id = :id")


class Job(NamedTuple):
    """A job with its first item, its schedule and its tags."""

    id: int
    public_id: str
    door: str
    state: str
    total: int
    done: int
    failed: int
    cancelled: int
    cached: int
    name: str | None
    paused_at: int | None
    created_at: int
    updated_at: int
    finished_at: int | None
    round: int
    last_event: int
    """The number of the job's last event."""
    started_at: int | None
    scraper: str
    user_id: str | None
    finish_by: int | None
    due_at: int | None
    trigger: str
    message: str | None
    schedule: str | None
    """The public id of the job's schedule."""
    schedule_name: str | None
    next_fire_at: int | None
    """The next slot of that schedule."""
    url: str | None
    """The URL of the first item; None: the job has no items yet."""
    error: str | None
    """Why the first item failed."""
    payload: str | None
    """JSON: what a job that waits for its slot will do, unless that is long."""
    tags: list[str]

    @property
    def first_url(self) -> str | None:
        """The URL of the first item, also of a job that waits for its slot."""
        if self.url is not None or self.payload is None:
            return self.url
        crawl = orjson.loads(self.payload).get("crawl", {})
        lists = (crawl.get("start") or {}).values()
        for given in (crawl.get("start_urls"), *lists):
            if given and isinstance(given, str | list):
                return given if isinstance(given, str) else str(given[0])
        return None


class StoredDocument(NamedTuple):
    content: bytes
    """Compressed."""
    content_type: str
    charset: str | None
    bytes: int
    """The size of the content before compression."""

    @classmethod
    def of(cls, row: Any) -> "StoredDocument | None":
        """The document in a row that has these columns; None: the item has no document."""
        if row.content is None:
            return None
        return cls(row.content, row.content_type, row.charset, row.bytes)


class FetchResult(NamedTuple):
    """The result of a fetch job's only item."""

    fetched_at: int | None
    document: StoredDocument | None


def read_jobs(connection: Connection, jobs: Sequence[str]) -> Mapping[str, Job]:
    """Returns the jobs that exist, by public id."""
    found = _with_tags(connection, _NAMED(connection, wanted=[(job,) for job in set(jobs)]))
    return {job.public_id: job for job in found}


def read_job_and_result(connection: Connection, job: str) -> tuple[Job, FetchResult | None]:
    """Returns the job and, if it is of the fetch door, the result of its only item."""
    found = read_jobs(connection, [job]).get(job)
    if found is None:
        raise NotFound("job", job)
    if found.door != "fetch":
        return found, None
    row = _RESULT(connection, job_id=found.id).one()
    return found, FetchResult(row.fetched_at, StoredDocument.of(row))


def read_newest_first(connection: Connection, job_ids: Sequence[int]) -> list[Job]:
    if not job_ids:
        return []
    return _with_tags(connection, _NEWEST_FIRST(connection, wanted=[(i,) for i in job_ids]))


def tags_of(connection: Connection, job_ids: Sequence[int]) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {job_id: [] for job_id in job_ids}
    for row in _TAGS(connection, wanted=[(i,) for i in job_ids]) if job_ids else ():
        found[row.job_id].append(row.tag)
    return found


def live_workers(connection: Connection, *, now: int) -> int:
    return int(_LIVE_WORKERS(connection, now=now).scalar_one())


def mark_gathered(connection: Connection, job_id: int, message: str | None, *, now: int) -> None:
    """Records that the records of this run of a site were compared with those before."""
    _MARK_GATHERED(connection, id=job_id, now=now, message=message)


def _with_tags(connection: Connection, rows: Iterable[Any]) -> list[Job]:
    found = list(rows)
    tags = tags_of(connection, [row.id for row in found])
    return [Job._make((*row, tags[row.id])) for row in found]
