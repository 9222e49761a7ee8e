"""Items that end without a result."""

from collections.abc import Sequence

from curtsy.store import Connection, Statement

_CANCEL = Statement(
    """
    UPDATE items SET state = 3, kind = 'cancelled', ended_at = :now
    WHERE job_id = :job_id AND state = 0 AND page_id IN (SELECT page_id FROM {locked})
    RETURNING page_id
    """,
    locked={"page_id": "bigint"},
)


def cancel_items(
    connection: Connection, job_id: int, page_ids: Sequence[int], *, now: int
) -> list[int]:
    """Ends the job's waiting items of these pages, which are locked; returns the pages of those
    that still waited."""
    locked = [(i,) for i in page_ids]
    return list(_CANCEL(connection, job_id=job_id, now=now, locked=locked).scalars())
