"""Deletes what no job needs any more: pages without a job, old attempts and receipts, letters that
are settled, and versions of documents that no item has.

A table is walked in slices of ids, each in a transaction of its own, because there is no index by
age: it would cost every page a write, and a slice costs nobody anything.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from curtsy.frontier.flush_rows import lock_pages
from curtsy.frontier.withdraw import drop_visits
from curtsy.store import Connection, Statement

SLICE = 1_000
"""Pages, or sources, that one transaction looks at."""
BATCH = 500
"""Rows that one transaction deletes."""

_PAGE = {"page_id": "bigint"}
_OF_PAGES = tuple(
    Statement(f"{sql} (SELECT page_id FROM {{gone}})", gone=_PAGE)  # noqa: S608
    for sql in (
        "DELETE FROM documents WHERE page_id IN",
        "DELETE FROM attempts WHERE page_id IN",
        "DELETE FROM dead_letters WHERE page_id IN",
        "DELETE FROM pages WHERE id IN",
    )
)
_SLICE_OF_PAGES = Statement(
    """
    SELECT max(id) FROM (
        SELECT id FROM pages WHERE id > :after ORDER BY id LIMIT :most) AS slice
    """
)
_UNREFERENCED = Statement(
    """
    SELECT id FROM pages WHERE id > :after AND id <= :upto AND reference_count <= 0
    ORDER BY id LIMIT :most
    """
)
_STILL_UNREFERENCED = Statement(
    """
    SELECT p.id FROM {wanted} JOIN pages p ON p.id = wanted.page_id WHERE p.reference_count <= 0
    """,
    wanted=_PAGE,
)
_OLD_ATTEMPTS = Statement(  # the last one of a page stays: it says what became of the page
    """
    SELECT a.page_id, a.turn FROM attempts a
    WHERE a.page_id > :after AND a.page_id <= :upto AND a.ended_at < :before
      AND coalesce((SELECT p.turn FROM pages p WHERE p.id = a.page_id), 0) <> a.turn
    ORDER BY a.page_id, a.turn LIMIT :most
    """
)
_DELETE_ATTEMPTS = Statement(
    "DELETE FROM attempts WHERE (page_id, turn) IN (SELECT page_id, turn FROM {gone})",
    gone=_PAGE | {"turn": "bigint"},
)
_SUPERSEDED = Statement(
    """
    SELECT d.page_id, d.version FROM pages p
    JOIN documents d ON d.page_id = p.id AND d.version < p.document_version
    WHERE p.id > :after AND p.id <= :upto AND p.document_version > 1
      AND (SELECT min(n.fetched_at) FROM documents n
           WHERE n.page_id = d.page_id AND n.version > d.version) < :before
    """
)
_JOBS = Statement("SELECT id, total FROM jobs WHERE id > :after ORDER BY id LIMIT :most")
_VERSIONS_OF_JOBS = Statement(
    """
    SELECT page_id, document_version FROM items
    WHERE job_id > :after AND job_id <= :upto AND document_version IS NOT NULL
    """
)
_VERSIONS_OF_JOB = Statement(
    """
    SELECT page_id, document_version FROM items
    WHERE job_id = :job AND position >= :first AND position < :first + :most
      AND document_version IS NOT NULL
    """
)
_LAST_POSITION = Statement("SELECT max(position) FROM items WHERE job_id = :job")
_DELETE_VERSIONS = Statement(
    """
    DELETE FROM documents WHERE (page_id, version) IN (SELECT page_id, version FROM {gone})
    """,
    gone=_PAGE | {"version": "int"},
)
_SETTLED = Statement(
    """
    SELECT d.id, d.last_failed_at < :before AND (
        SELECT o.id FROM dead_letters o WHERE o.page_id = d.page_id AND o.state = 'open' LIMIT 1
        ) IS NULL AS is_old
    FROM dead_letters d WHERE d.state = :state AND d.id > :after ORDER BY d.id LIMIT :most
    """
)
_DELETE_LETTERS = Statement(
    "DELETE FROM dead_letters WHERE id IN (SELECT id FROM {gone}) AND state <> 'open'",
    gone={"id": "bigint"},
)
_SLICE_OF_SOURCES = Statement(
    """
    SELECT max(id) FROM (
        SELECT id FROM sources WHERE id > :after ORDER BY id LIMIT :most) AS slice
    """
)
_OLD_RECEIPTS = Statement(
    """
    SELECT source_id, day FROM receipts
    WHERE source_id > :after AND source_id <= :upto AND day < :day
    ORDER BY source_id, day LIMIT :most
    """
)
_DELETE_RECEIPTS = Statement(
    "DELETE FROM receipts WHERE (source_id, day) IN (SELECT source_id, day FROM {gone})",
    gone={"source_id": "bigint", "day": "int"},
)


class Slice(NamedTuple):
    """A range of ids: `after` is not in it, `upto` is."""

    after: int
    upto: int


class Version(NamedTuple):
    """A version of a page's document."""

    page_id: int
    version: int


class ItemRange(NamedTuple):
    """Items that one statement reads: of some jobs, or of a part of one large job."""

    jobs: Slice
    first: int | None = None
    """The first position of a part; None: all items of the jobs."""


def delete_pages(connection: Connection, page_ids: Collection[int]) -> None:
    """Deletes these pages, which are locked, with all that belongs to them."""
    gone = [(page_id,) for page_id in page_ids]
    for statement in _OF_PAGES if gone else ():
        statement(connection, gone=gone)


def next_pages(connection: Connection, after: int) -> Slice | None:
    """Returns the pages that follow; None: there are no more."""
    upto = _SLICE_OF_PAGES(connection, after=after, most=SLICE).scalar()
    return None if upto is None else Slice(after, upto)


def delete_unreferenced(connection: Connection, pages: Slice) -> int:
    """Deletes pages of the slice that no job has; returns how many."""
    found = list(_UNREFERENCED(connection, **pages._asdict(), most=BATCH).scalars())
    if not found:
        return 0
    lock_pages(connection, found)
    still = _STILL_UNREFERENCED(connection, wanted=[(i,) for i in found]).scalars()
    drop_visits(connection, still)
    delete_pages(connection, still)
    return len(still)


def delete_attempts(connection: Connection, pages: Slice, *, before: int) -> int:
    """Deletes attempts that ended before this instant; returns how many, at most `BATCH`."""
    old = _OLD_ATTEMPTS(connection, **pages._asdict(), before=before, most=BATCH).tuples()
    return int(_DELETE_ATTEMPTS(connection, gone=old).rowcount) if old else 0


def superseded(connection: Connection, pages: Slice, *, before: int) -> list[Version]:
    """Returns the versions of the slice that another one followed before this instant. No item gets
    such a version any more: an item that ends gets its page's current one."""
    rows = _SUPERSEDED(connection, **pages._asdict(), before=before)
    return [Version._make(row) for row in rows.tuples()]


def item_ranges(connection: Connection, after: int) -> list[ItemRange]:
    """Returns the next jobs, in ranges of some thousand items each; an empty list: no more."""
    ranges: list[ItemRange] = []
    begin, items = after, 0
    rows = list(_JOBS(connection, after=after, most=SLICE).tuples())
    for n, (job, total) in enumerate(rows):
        items += total
        if items >= SLICE or n == len(rows) - 1:
            ranges += _parts(connection, Slice(begin, job), job, total)
            begin, items = job, 0
    return ranges


def _parts(connection: Connection, jobs: Slice, last: int, total: int) -> list[ItemRange]:
    if total <= SLICE:
        return [ItemRange(jobs)]
    before = [ItemRange(Slice(jobs.after, last - 1))] if jobs.after < last - 1 else []
    end = _LAST_POSITION(connection, job=last).scalar() or 0
    only = Slice(last - 1, last)
    return before + [ItemRange(only, first) for first in range(0, end + 1, SLICE)]


def versions_of(connection: Connection, items: ItemRange) -> set[tuple[int, int]]:
    """Returns the versions that these items have as their result."""
    if items.first is None:
        rows = _VERSIONS_OF_JOBS(connection, **items.jobs._asdict())
    else:
        rows = _VERSIONS_OF_JOB(connection, job=items.jobs.upto, first=items.first, most=SLICE)
    return {(row[0], row[1]) for row in rows.tuples()}


def delete_versions(connection: Connection, versions: Sequence[tuple[int, int]]) -> int:
    """Deletes these versions, which no item has; returns how many there were."""
    return int(_DELETE_VERSIONS(connection, gone=versions).rowcount)


def delete_settled_letters(
    connection: Connection, *, state: str, after: int, before: int
) -> tuple[int, int | None]:
    """Looks at the next letters in this state, and deletes those that failed last before this
    instant and whose page has no open letter, which would be retried more often without them.
    Returns how many it deleted, and the last letter it saw; None: there are no more."""
    rows = list(_SETTLED(connection, state=state, after=after, before=before, most=BATCH))
    old = [(row.id,) for row in rows if row.is_old]
    if old:
        _DELETE_LETTERS(connection, gone=old)
    return len(old), rows[-1].id if len(rows) == BATCH else None


def next_sources(connection: Connection, after: int) -> Slice | None:
    upto = _SLICE_OF_SOURCES(connection, after=after, most=SLICE).scalar()
    return None if upto is None else Slice(after, upto)


def delete_receipts(connection: Connection, sources: Slice, *, before_day: int) -> int:
    """Deletes receipts of earlier days; returns how many, at most `BATCH`."""
    old = _OLD_RECEIPTS(connection, **sources._asdict(), day=before_day, most=BATCH).tuples()
    return int(_DELETE_RECEIPTS(connection, gone=old).rowcount) if old else 0
