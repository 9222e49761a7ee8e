"""Forget a job: its items, its events, and what no other job has of its pages.

A batch in each transaction. One that is not finished leaves a job with fewer items, which the next
call goes on with.
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
_LET_GO = Statement(
    """
    UPDATE pages SET reference_count = reference_count - 1
    WHERE id IN (SELECT page_id FROM {let_go}) RETURNING id, reference_count
    """,
    let_go={"page_id": "bigint"},
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
    """Returns how many items went; fewer than a batch: the job is gone."""
    found = _FIND(connection, job=job).one_or_none()
    if found is None:
        raise NotFound("job", job)
    items = list(_ITEMS(connection, job_id=found.id, most=BATCH))
    lock_pages(connection, [item.page_id for item in items])
    gone = [(item.position,) for item in items]
    # those that somebody else did not forget meanwhile: each counts for its page once
    pages = list(_DELETE_ITEMS(connection, job_id=found.id, gone=gone).scalars()) if gone else []
    if pages:
        drop_visits(connection, pages)
        counts = list(_LET_GO(connection, let_go=[(page_id,) for page_id in pages]))
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
    return list(_OLD_JOBS(connection, before=now - keep, keep=keep, most=most).scalars())
