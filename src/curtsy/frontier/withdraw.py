"""Cancels items, and deletes visits that no job waits for."""

from collections.abc import Sequence

from curtsy.store import Connection, Statement

_DELETE_VISITS = Statement(
    """
    DELETE FROM visits WHERE page_id IN (SELECT page_id FROM {dropped}) AND NOT EXISTS (
        SELECT 1 FROM items i JOIN jobs j ON j.id = i.job_id
        WHERE i.page_id = visits.page_id AND i.state = 0 AND j.paused_at IS NULL)
    RETURNING page_id, turn, (current_url IS NOT NULL AND NOT repeats) AS redirected
    """,
    dropped={"page_id": "bigint"},
)
_CLOSE_TURNS = Statement(
    """
    UPDATE pages SET turn = c.turn,
        sent_turn = CASE WHEN c.goes_on AND pages.sent_turn IS NOT NULL
                              AND (pages.sent_turn = c.turn OR c.redirected)
                         THEN c.turn + 1 ELSE pages.sent_turn END
    FROM (SELECT * FROM {closed}) c WHERE pages.id = c.page_id
    """,
    closed={"page_id": "bigint", "turn": "bigint", "redirected": "bool", "goes_on": "bool"},
)
_CANCEL = Statement(
    """
    UPDATE items SET state = 3, kind = 'cancelled', ended_at = :now
    WHERE job_id = :job_id AND state = 0 AND page_id IN (SELECT page_id FROM {locked})
    RETURNING page_id
    """,
    locked={"page_id": "bigint"},
)


def drop_visits(connection: Connection, page_ids: Sequence[int], *, goes_on: bool = False) -> None:
    """Deletes the visits of these pages, which are locked, and closes their turns. Visits that an
    unpaused job waits for stay. `goes_on`: the jobs will want the pages again, as after a pause; a
    POST that was sent then has its mark in the next turn, too. One that was answered with a
    redirect to a GET was sent, in whichever turn."""
    if not page_ids:
        return
    deleted = [
        (row.page_id, row.turn, bool(row.redirected), goes_on)
        for row in _DELETE_VISITS(connection, dropped=[(i,) for i in page_ids])
    ]
    if deleted:
        _CLOSE_TURNS(connection, closed=deleted)


def cancel_items(
    connection: Connection, job_id: int, page_ids: Sequence[int], *, now: int
) -> list[int]:
    """Ends the job's waiting items of these pages, which are locked; returns the pages of those
    that still waited."""
    locked = [(i,) for i in page_ids]
    return list(_CANCEL(connection, job_id=job_id, now=now, locked=locked).scalars())
