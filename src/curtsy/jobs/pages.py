"""A page and its story: what waits for it, and every attempt there was."""

from dataclasses import dataclass
from typing import Any

import orjson

from curtsy.errors import NotFound
from curtsy.store import Connection, Statement

MOST_ATTEMPTS = 200

_PAGE = Statement(
    """
    SELECT p.id, p.url, p.host, s.name AS source, p.scraper, p.reference_count, p.turn, p.outcome,
           p.kind, p.error, p.retry_count, p.checked_at, p.fetched_at, p.etag, p.last_modified,
           p.document_version, p.created_at, v.page_id AS visit, v.due_at, v.attempt, v.priority,
           v.current_url, v.hops
    FROM pages p JOIN hosts h ON h.host = p.host
    LEFT JOIN visits v ON v.page_id = p.id
    JOIN sources s ON s.id = coalesce(v.source_id, h.source_id)
    WHERE p.id = :page_id
    """
)
_ATTEMPTS = Statement(
    """
    SELECT turn, attempt, url, outcome, kind, status, bytes, memory, error, traceback, worker,
           started_at, ended_at
    FROM attempts WHERE page_id = :page_id ORDER BY turn DESC LIMIT :most
    """
)
_AT_WORK = Statement("SELECT in_flight FROM workers")


@dataclass(frozen=True, slots=True)
class PageStory:
    page: Any
    in_flight: bool
    attempts: list[Any]
    """The newest first."""


def page_story(connection: Connection, page_id: int, name: str) -> PageStory:
    page = _PAGE(connection, page_id=page_id).one_or_none()
    if page is None:
        raise NotFound("page", name)
    attempts = attempts_of(connection, page_id)
    at_work = any(page_id in orjson.loads(row.in_flight) for row in _AT_WORK(connection))
    return PageStory(page, page.visit is not None and at_work, attempts)


def attempts_of(connection: Connection, page_id: int) -> list[Any]:
    return list(_ATTEMPTS(connection, page_id=page_id, most=MOST_ATTEMPTS))
