"""Feeds and sitemaps of crawls that were fetched, and whose entries wait to be admitted.

A row refers to the document that lists the entries. They may be many, so that they are admitted in
several transactions (`listed_pages.py`); the row remembers how far they came. The table is not that
of links: programs that do not know it must not take its rows for links and delete them.
"""

from collections.abc import Sequence
from typing import NamedTuple

from curtsy.frontier.crawls.leads import depths_of_not_full
from curtsy.frontier.job_counts import Changes
from curtsy.store import Connection, Statement

MOST_LISTS = 20
"""The most lists that are read in one turn."""

_INSERT = Statement(
    """
    INSERT INTO lists (job_id, depth, page_id, document_version)
    SELECT job_id, depth, page_id, document_version FROM {new} WHERE true
    """,
    new={"job_id": "bigint", "depth": "smallint", "page_id": "bigint", "document_version": "int"},
)
_WAITING = Statement(
    """
    SELECT l.id, l.job_id, l.depth, l.page_id, l.document_version, l.reached, p.url,
           p.scraper AS list_scraper, cr.subscription_id, c.depth AS deepest, c.priority, c.scope,
           j.scraper
    FROM lists l JOIN jobs j ON j.id = l.job_id JOIN crawls c ON c.job_id = l.job_id
    JOIN pages p ON p.id = l.page_id
    LEFT JOIN crawled cr ON cr.job_id = l.job_id AND cr.fingerprint = p.fingerprint
    WHERE j.paused_at IS NULL AND j.state IN ('queued', 'running') ORDER BY l.id LIMIT :most
    """
)
_DOCUMENT = Statement(
    "SELECT content, bytes FROM documents WHERE page_id = :page_id AND version = :version"
)
_CLAIM = Statement("DELETE FROM lists WHERE id = :id AND reached = :reached RETURNING id")
_GO_ON = Statement(
    "UPDATE lists SET reached = :next WHERE id = :id AND reached = :reached RETURNING id"
)
_DELETE = Statement("DELETE FROM lists WHERE job_id = :job_id RETURNING id")


class FoundList(NamedTuple):
    """A feed or sitemap that was fetched for a job."""

    job_id: int
    depth: int
    page_id: int
    document_version: int


class WaitingList(NamedTuple):
    """A feed or sitemap with entries that wait to be admitted."""

    id: int
    job_id: int
    depth: int
    page_id: int
    document_version: int
    reached: int
    """How many of the entries are behind."""
    url: str
    list_scraper: str
    subscription_id: int | None
    """None: the crawl remembers nothing."""
    deepest: int
    """The depth of the crawl."""
    priority: int
    scope: str
    """As in `Crawl`."""
    scraper: str
    """Of the entries."""


class ListDocument(NamedTuple):
    """The document of a feed or sitemap, as its scraper stored it."""

    content: bytes
    """Compressed."""
    bytes: int


def store_lists(connection: Connection, found: Sequence[FoundList], changes: Changes) -> None:
    """Stores lists in a flush, for the crawls that are not full."""
    if not found:
        return
    not_full = depths_of_not_full(connection, {one.job_id for one in found})
    stored = [tuple(one) for one in found if one.job_id in not_full]
    if stored:
        _INSERT(connection, new=stored)
    for job_id, *_ in stored:
        changes[job_id].links_waiting += 1


def waiting_lists(connection: Connection, *, most: int = MOST_LISTS) -> list[WaitingList]:
    """The oldest lists, except those of crawls that are paused or over."""
    return [WaitingList._make(row) for row in _WAITING(connection, most=most)]


def read_document(connection: Connection, waiting: WaitingList) -> ListDocument | None:
    """None: the document was deleted meanwhile."""
    row = _DOCUMENT(
        connection, page_id=waiting.page_id, version=waiting.document_version
    ).one_or_none()
    return ListDocument(row.content, row.bytes) if row is not None else None


def claim(connection: Connection, waiting: WaitingList, next_at: int | None) -> bool:
    """Whether the caller may admit the entries up to `next_at` (None: up to the end): another
    process may have admitted them."""
    if next_at is None:
        claimed = _CLAIM(connection, id=waiting.id, reached=waiting.reached)
    else:
        claimed = _GO_ON(connection, id=waiting.id, reached=waiting.reached, next=next_at)
    return claimed.scalar() is not None


def delete_lists(connection: Connection, job_id: int) -> int:
    """Deletes the lists of a crawl that ends; returns how many."""
    return len(_DELETE(connection, job_id=job_id).all())
