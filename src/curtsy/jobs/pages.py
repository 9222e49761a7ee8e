"""Reads a page with its waiting visit and its attempts."""

from typing import NamedTuple

import orjson

from curtsy.errors import NotFound
from curtsy.model.failure_kinds import Kind
from curtsy.store import Connection, Statement

MOST_ATTEMPTS = 200

_PAGE = Statement(
    """
    SELECT p.id, p.url, p.host, s.name AS source, p.scraper, p.reference_count, p.turn, p.outcome,
           p.kind, p.error, p.retry_count, p.checked_at, p.fetched_at, p.etag, p.last_modified,
           p.document_version, p.created_at, v.page_id IS NOT NULL AS waits, v.due_at,
           v.priority, v.current_url, v.hops
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
_IN_FLIGHT = Statement("SELECT in_flight FROM workers")


class Page(NamedTuple):
    """A page with its source and its waiting visit."""

    id: int
    url: str
    host: str
    source: str
    scraper: str
    reference_count: int
    turn: int
    outcome: str | None
    kind: Kind | None
    error: str | None
    retry_count: int
    checked_at: int | None
    fetched_at: int | None
    etag: str | None
    last_modified: str | None
    document_version: int
    created_at: int
    waits: bool
    """The page has a visit; if not, the fields below are None."""
    due_at: int | None
    priority: int | None
    current_url: str | None
    hops: int | None


class Attempt(NamedTuple):
    turn: int
    attempt: int
    url: str | None
    outcome: str
    kind: Kind | None
    status: int | None
    bytes: int | None
    memory: int | None
    error: str | None
    traceback: str | None
    worker: str
    started_at: int
    ended_at: int


class PageHistory(NamedTuple):
    page: Page
    in_flight: bool
    attempts: list[Attempt]
    """The newest first."""


def read_page(connection: Connection, page_id: int, name: str) -> PageHistory:
    """Returns the page and its attempts. `name` is the page's public id, for the error."""
    row = _PAGE(connection, page_id=page_id).one_or_none()
    if row is None:
        raise NotFound("page", name)
    page = Page._make(row)._replace(waits=bool(row.waits), kind=_kind(row.kind))
    attempts = attempts_of(connection, page_id)
    requested = any(page_id in orjson.loads(worker.in_flight) for worker in _IN_FLIGHT(connection))
    return PageHistory(page, page.waits and requested, attempts)


def attempts_of(connection: Connection, page_id: int) -> list[Attempt]:
    rows = _ATTEMPTS(connection, page_id=page_id, most=MOST_ATTEMPTS)
    return [Attempt._make(row)._replace(kind=_kind(row.kind)) for row in rows]


def _kind(stored: str | None) -> Kind | None:
    return Kind(stored) if stored is not None else None
