"""Finds jobs by their pages: pages of a source, pages that wait for another try, dead letters.

No index leads from a source to all its jobs, so each search reads a bounded number of rows.
"""

from collections.abc import Sequence
from typing import NamedTuple

from curtsy.errors import NotFound
from curtsy.store import Connection, Statement

PAGES_SEARCHED = 100
"""The first pages of a job that are compared with a source."""
ROWS_SEARCHED = 10_000
"""The newest dead letters, or visits that wait for another try, whose jobs are found."""

_SOURCE = Statement("SELECT id FROM sources WHERE name = :name")
_SITE = Statement("SELECT id FROM sites WHERE name = :name")
_AT_SOURCE = Statement(
    """
    SELECT DISTINCT i.job_id FROM {wanted}
    JOIN items i ON i.job_id = wanted.id AND i.position < :pages
    JOIN pages p ON p.id = i.page_id JOIN hosts h ON h.host = p.host
    WHERE h.source_id = :source_id
    """,
    wanted={"id": "bigint"},
)
_OF_SITE = Statement(
    "SELECT j.id FROM {wanted} JOIN jobs j ON j.id = wanted.id WHERE j.site_id = :site_id",
    wanted={"id": "bigint"},
)
_WITH_PAGES = {
    "dead_letter": Statement(
        """
        SELECT DISTINCT i.job_id FROM (
            SELECT page_id FROM dead_letters WHERE state = 'open' ORDER BY id DESC LIMIT :most
        ) AS letters JOIN items i ON i.page_id = letters.page_id AND i.state = 2
        """
    ),
    "retry": Statement(
        """
        SELECT DISTINCT i.job_id FROM (
            SELECT page_id FROM visits WHERE due_at IS NOT NULL LIMIT :most
        ) AS due JOIN pages p ON p.id = due.page_id AND p.kind IS NOT NULL
        JOIN items i ON i.page_id = due.page_id AND i.state = 0
        """
    ),
}
PAGE_WORDS = tuple(_WITH_PAGES)
"""Words of the operations document that are about pages: a job fits that has such a page."""


class SourceFilter(NamedTuple):
    """A source, or a site of the same name; at least one of them."""

    source_id: int | None
    site_id: int | None


def find_source(connection: Connection, name: str) -> SourceFilter:
    """Raises `NotFound` where neither a source nor a site has the name."""
    found = SourceFilter(
        _SOURCE(connection, name=name).scalar(), _SITE(connection, name=name).scalar()
    )
    if found == SourceFilter(None, None):
        raise NotFound("source", name[:200])
    return found


def jobs_of_source(connection: Connection, jobs: Sequence[int], of: SourceFilter) -> set[int]:
    """Those of the jobs that are runs of the site, or have a page of the source among their first
    pages."""
    wanted = [(job,) for job in jobs]
    found: set[int] = set()
    if wanted and of.source_id is not None:
        rows = _AT_SOURCE(connection, wanted=wanted, source_id=of.source_id, pages=PAGES_SEARCHED)
        found.update(rows.scalars())
    if wanted and of.site_id is not None:
        found.update(_OF_SITE(connection, wanted=wanted, site_id=of.site_id).scalars())
    return found


def jobs_with_pages(connection: Connection, which: str) -> list[int]:
    """Ids of jobs with a page in this state, one of `PAGE_WORDS`."""
    return list(_WITH_PAGES[which](connection, most=ROWS_SEARCHED).scalars())
