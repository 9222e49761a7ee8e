"""Reads what a job was asked for: its start URLs, its depth and its pages, a page at a time."""

from typing import Any, NamedTuple

import orjson

from curtsy.errors import NotFound
from curtsy.jobs.job import Job
from curtsy.store import Connection, Statement

_ITEMS = Statement(
    """
    SELECT i.position, i.page_id, i.depth, coalesce(i.url, p.url) AS url
    FROM items i JOIN pages p ON p.id = i.page_id
    WHERE i.job_id = :job_id AND i.position > :after ORDER BY i.position LIMIT :most
    """
)
_TERMS = Statement(
    """
    SELECT j.params, c.depth FROM jobs j LEFT JOIN crawls c ON c.job_id = j.id
    WHERE j.id = :job_id
    """
)
_PAYLOAD = Statement("SELECT payload FROM schedules WHERE public_id = :schedule")


class Asked(NamedTuple):
    params: dict[str, Any]
    """As the client sent them, without headers."""
    start_urls: list[str]
    """URLs of the pages that no link led to."""
    depth: int | None
    """How many links deep a crawl goes; None: the job is no crawl."""
    pages: list[int]
    """Ids of pages."""
    onward: int | None
    """The position after which the next page begins; None: this is the last."""


def read_asked(connection: Connection, job: Job, *, after: int, most: int) -> Asked:
    """Reads the items after a position; a job that waits for its slot has none yet, but a
    schedule that knows what they will be."""
    terms = _TERMS(connection, job_id=job.id).one_or_none()
    if terms is None:
        raise NotFound("job", job.public_id)
    params = {name: value for name, value in orjson.loads(terms.params).items()
              if value is not None}  # fmt: skip
    rows = _ITEMS(connection, job_id=job.id, after=after, most=most + 1).all()
    if not rows and job.state == "scheduled" and job.schedule is not None:
        return _of_schedule(connection, job.schedule, params, after=after, most=most)
    shown = rows[:most]
    return Asked(
        params,
        [row.url for row in shown if row.depth == 0],
        terms.depth,
        [row.page_id for row in shown],
        shown[-1].position if len(rows) > most else None,
    )


def _of_schedule(
    connection: Connection, schedule: str, params: dict[str, Any], *, after: int, most: int
) -> Asked:
    payload = orjson.loads(_PAYLOAD(connection, schedule=schedule).scalar() or "{}")
    crawl = payload.get("crawl", {})
    urls = crawl.get("start_urls", [])
    last = after + most
    onward = last if last + 1 < len(urls) else None
    return Asked(params, urls[after + 1 : last + 1], crawl.get("depth", 0), [], onward)
