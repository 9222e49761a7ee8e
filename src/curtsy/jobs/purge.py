"""Purges jobs: deletes jobs, their items and events, and the pages that no other job has.

Each transaction deletes a batch of rows, so that no other waits long for its locks. After an
interruption the jobs have fewer items, and the next call continues with them.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from curtsy.errors import NotFound
from curtsy.frontier.cookie_jars import delete_jars_of
from curtsy.frontier.flush_rows import lock_pages
from curtsy.frontier.retention import delete_pages
from curtsy.frontier.withdraw import drop_visits
from curtsy.store import Connection, Lookup, Statement

BATCH = 500
"""Rows that one transaction deletes, not counted those that go with a page or with a job."""
MOST_JOBS = 100
"""Jobs that one transaction deletes."""

_FIND = Statement("SELECT id FROM jobs WHERE public_id = :job")
_ITEMS = Lookup(
    """
    SELECT job_id, position, page_id FROM items WHERE job_id = {each_id}
    ORDER BY position LIMIT :most
    """,
    each={"id": "bigint"},
)
_DELETE_ITEMS = Statement(
    """
    DELETE FROM items WHERE (job_id, position) IN (SELECT job_id, position FROM {gone})
    RETURNING page_id
    """,
    gone={"job_id": "bigint", "position": "int"},
)
_RELEASE_PAGES = Statement(
    """
    UPDATE pages SET reference_count = reference_count - r.times FROM (SELECT * FROM {released}) r
    WHERE pages.id = r.page_id RETURNING pages.id, reference_count
    """,
    released={"page_id": "bigint", "times": "int"},
)


class _Part:
    """A table with many rows of a job."""

    def __init__(self, table: str, key: Mapping[str, str]) -> None:
        names = ", ".join(key)
        self._width = len(key)
        self._find = Lookup(
            f"SELECT {names} FROM {table} WHERE job_id = {{each_id}} ORDER BY {names} LIMIT :most",  # noqa: S608
            each={"id": "bigint"},
        )
        self._delete = Statement(
            f"DELETE FROM {table} WHERE ({names}) IN (SELECT {names} FROM {{gone}})",  # noqa: S608
            gone=key,
        )

    def delete(self, connection: Connection, jobs: Sequence[int], *, most: int) -> int:
        """Deletes at most that many rows of these jobs; returns how many it deleted."""
        rows = self._find.tuples(connection, [(job,) for job in jobs], most=most)[:most]
        if rows:
            self._delete(connection, gone=[tuple(row) for row in rows])
        return len(rows)


_PARTS = (
    _Part("events", {"job_id": "bigint", "n": "bigint"}),
    _Part("links", {"id": "bigint"}),
    _Part("lists", {"id": "bigint"}),
    _Part("crawled", {"job_id": "bigint", "fingerprint": "text"}),
    _Part("sightings", {"job_id": "bigint", "key": "text"}),
)
_OF_JOBS = tuple(
    Statement(f"{sql} {{gone}})", gone={"id": "bigint"})
    for sql in (
        "DELETE FROM job_tags WHERE job_id IN (SELECT id FROM",
        "DELETE FROM crawls WHERE job_id IN (SELECT id FROM",
        "DELETE FROM webhook_deliveries WHERE job_id IN (SELECT id FROM",
        "UPDATE firings SET job_id = NULL WHERE job_id IS NOT NULL AND job_id IN (SELECT id FROM",
    )
)
_FORGET_CLAIMS = Statement(
    """
    DELETE FROM submissions WHERE job IN (
        SELECT j.public_id FROM {gone} JOIN jobs j ON j.id = gone.id)
    """,
    gone={"id": "bigint"},
)
_DELETE_JOBS = Statement(
    "DELETE FROM jobs WHERE id IN (SELECT id FROM {gone})", gone={"id": "bigint"}
)


class Purged(NamedTuple):
    """The result of a batch."""

    pages: int
    """Pages that no job has any more, which are deleted."""
    is_done: bool
    """The jobs are deleted, too."""


def purge_some(connection: Connection, job: str) -> Purged:
    """Deletes a batch of the job's rows. Raises `NotFound`."""
    found = _FIND(connection, job=job).one_or_none()
    if found is None:
        raise NotFound("job", job)
    return purge_batch(connection, [found.id])


def purge_batch(connection: Connection, jobs: Sequence[int]) -> Purged:
    """Deletes a batch of the rows of these jobs."""
    items = _ITEMS.tuples(connection, [(job,) for job in jobs], most=BATCH)[:BATCH]
    pages = _purge_items(connection, items) if items else 0
    room = BATCH - len(items)
    for part in _PARTS:
        if room > 0:
            room -= part.delete(connection, jobs, most=room)
    if room <= 0:
        return Purged(pages, is_done=False)
    delete_jars_of(connection, jobs)
    gone = [(job,) for job in jobs]
    for statement in (*_OF_JOBS, _FORGET_CLAIMS, _DELETE_JOBS):
        statement(connection, gone=gone)
    return Purged(pages, is_done=True)


def _purge_items(connection: Connection, items: Sequence[tuple[int, int, int]]) -> int:
    """Deletes these items; returns how many pages were deleted with them."""
    lock_pages(connection, list({page_id for _job, _position, page_id in items}))
    gone = [(job, position) for job, position, _page in items]
    # only items that no concurrent purge deleted: each item releases its page once
    released = Counter(_DELETE_ITEMS(connection, gone=gone).scalars())
    if not released:
        return 0
    drop_visits(connection, list(released))
    counts = _RELEASE_PAGES(connection, released=list(released.items()))
    unwanted = [row.id for row in counts if row.reference_count <= 0]
    delete_pages(connection, unwanted)
    return len(unwanted)


_LATER = """
    SELECT 1 FROM jobs k WHERE k.site_id = j.site_id AND k.site_id IS NOT NULL
      AND k.state = 'succeeded' AND k.gathered_at IS NOT NULL AND k.created_at > j.created_at
"""
_OLD_JOBS = Statement(
    f"""
    SELECT j.id, j.total, j.created_at FROM jobs j
    WHERE j.created_at < :before AND j.finished_at < :before
      AND (j.created_at, j.id) > (:after_at, :after_id)
      AND NOT (j.site_id IS NOT NULL AND j.state = 'succeeded' AND j.gathered_at IS NOT NULL
               AND EXISTS (SELECT 1 FROM sites s WHERE s.id = j.site_id)
               AND (NOT EXISTS ({_LATER} AND (k.search = j.search
                                              OR k.created_at - j.created_at > :keep))
                    OR (EXISTS (SELECT 1 FROM schedules c WHERE c.id = j.schedule_id)
                        AND NOT EXISTS ({_LATER} AND k.schedule_id = j.schedule_id))))
    ORDER BY j.created_at, j.id LIMIT :most
    """  # noqa: S608
)


class OldJob(NamedTuple):
    id: int
    total: int
    """Its items, unless a purge was interrupted."""
    created_at: int


BEFORE_ALL = OldJob(0, 0, 0)


def old_jobs(
    connection: Connection, *, keep: int, now: int, most: int, after: OldJob = BEFORE_ALL
) -> list[OldJob]:
    """Returns the oldest jobs behind `after` that ended more than `keep` milliseconds ago, except
    the last runs of a site, with which later runs are compared."""
    rows = _OLD_JOBS(connection, before=now - keep, keep=keep, most=most,
                     after_at=after.created_at, after_id=after.id)  # fmt: skip
    return [OldJob._make(row) for row in rows.tuples()]


def batches_of(jobs: Sequence[OldJob]) -> list[list[int]]:
    """Divides jobs into batches, in their order: a large job alone, small ones together."""
    batches: list[list[int]] = []
    room = 0
    for job in jobs:
        if not batches or job.total > room or len(batches[-1]) == MOST_JOBS:
            batches.append([])
            room = BATCH
        batches[-1].append(job.id)
        room -= job.total
    return batches
