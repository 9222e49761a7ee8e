"""Purges jobs: deletes a job, its items and events, and the pages that no other job has.

Each transaction deletes one batch of items. After an interruption the job has fewer items, and the
next call continues with them.
"""

from curtsy.errors import NotFound
from curtsy.frontier.flush_rows import lock_pages
from curtsy.frontier.withdraw import drop_visits
from curtsy.store import Connection, Statement

BATCH = 1_000

_FIND = Statement("SELECT id FROM jobs WHERE public_id = :job")
_ITEMS = Statement(
    "SELECT position, page_id FROM items WHERE job_id = :job_id ORDER BY position LIMIT :most"
)
_DELETE_ITEMS = Statement(
    """
    DELETE FROM items WHERE job_id = :job_id AND position IN (SELECT position FROM {gone})
    RETURNING page_id
    """,
    gone={"position": "int"},
)
_RELEASE_PAGES = Statement(
    """
    UPDATE pages SET reference_count = reference_count - 1
    WHERE id IN (SELECT page_id FROM {released}) RETURNING id, reference_count
    """,
    released={"page_id": "bigint"},
)
_OF_PAGE = tuple(
    Statement(
        f"DELETE FROM {table} WHERE {column} IN (SELECT page_id FROM {{unwanted}})",  # noqa: S608
        unwanted={"page_id": "bigint"},
    )
    for table, column in (("documents", "page_id"), ("attempts", "page_id"),
                          ("dead_letters", "page_id"), ("pages", "id"))
)  # fmt: skip
_OF_JOB = tuple(
    Statement(sql)
    for sql in (
        "DELETE FROM events WHERE job_id = :job_id",
        "DELETE FROM job_tags WHERE job_id = :job_id",
        "DELETE FROM links WHERE job_id = :job_id",
        "DELETE FROM crawled WHERE job_id = :job_id",
        "DELETE FROM crawls WHERE job_id = :job_id",
        "DELETE FROM webhook_deliveries WHERE job_id = :job_id",
        "DELETE FROM sightings WHERE job_id = :job_id",
        "UPDATE firings SET job_id = NULL WHERE job_id = :job_id AND job_id IS NOT NULL",
        "DELETE FROM submissions WHERE job = (SELECT public_id FROM jobs WHERE id = :job_id)",
        "DELETE FROM jobs WHERE id = :job_id",
    )
)


def purge_some(connection: Connection, job: str) -> int:
    """Deletes a batch of the job's items and returns how many; fewer than `BATCH`: the job is
    deleted, too."""
    found = _FIND(connection, job=job).one_or_none()
    if found is None:
        raise NotFound("job", job)
    items = list(_ITEMS(connection, job_id=found.id, most=BATCH))
    lock_pages(connection, [item.page_id for item in items])
    gone = [(item.position,) for item in items]
    # only items that no concurrent purge deleted: each item releases its page once
    pages = list(_DELETE_ITEMS(connection, job_id=found.id, gone=gone).scalars()) if gone else []
    if pages:
        drop_visits(connection, pages)
        counts = list(_RELEASE_PAGES(connection, released=[(page_id,) for page_id in pages]))
        unwanted = [(row.id,) for row in counts if row.reference_count <= 0]
        for statement in _OF_PAGE if unwanted else ():
            statement(connection, unwanted=unwanted)
    if len(items) < BATCH:
        for statement in _OF_JOB:
            statement(connection, job_id=found.id)
    return len(items)


_LATER = """
    SELECT 1 FROM jobs k WHERE k.site_id = j.site_id AND k.site_id IS NOT NULL
      AND k.state = 'succeeded' AND k.gathered_at IS NOT NULL AND k.created_at > j.created_at
"""
_OLD_JOBS = Statement(
    f"""
    SELECT j.public_id FROM jobs j WHERE j.created_at < :before AND j.finished_at < :before
      AND NOT (j.site_id IS NOT NULL AND j.state = 'succeeded' AND j.gathered_at IS NOT NULL
               AND EXISTS (SELECT 1 FROM sites s WHERE s.id = j.site_id)
               AND (NOT EXISTS ({_LATER} AND (k.search = j.search
                                              OR k.created_at - j.created_at > :keep))
                    OR (EXISTS (SELECT 1 FROM schedules c WHERE c.id = j.schedule_id)
                        AND NOT EXISTS ({_LATER} AND k.schedule_id = j.schedule_id))))
    ORDER BY j.created_at LIMIT :most
    """  # noqa: S608
)


def old_jobs(connection: Connection, *, keep: int, now: int, most: int) -> list[str]:
    """Returns the oldest jobs that ended more than `keep` milliseconds ago, except the last runs of
    a site, with which later runs are compared."""
    return list(_OLD_JOBS(connection, before=now - keep, keep=keep, most=most).scalars())
