"""Marks the turn in which a POST is about to be sent, so that no other worker sends it again."""

from curtsy.store import Connection, Statement

_MARK = Statement(
    """
    UPDATE pages SET sent_turn = :turn
    WHERE id = :page_id AND turn < :turn AND (sent_turn IS NULL OR sent_turn < :turn)
      AND EXISTS (SELECT 1 FROM visits v JOIN sources s ON s.id = v.source_id
                  WHERE v.page_id = :page_id AND v.turn = :turn AND s.owner = :worker)
    RETURNING id
    """
)


def mark_sent(connection: Connection, page_id: int, turn: int, *, worker: str) -> bool:
    """Returns whether this call set the mark: at most one ever does for a turn of a page, and only
    one of the worker that owns the visit. The mark outlives the visit, as when its job is paused;
    it ends when the result of the turn is stored."""
    return _MARK(connection, page_id=page_id, turn=turn, worker=worker).one_or_none() is not None
