"""Take a job back: its waiting items end; pages that other jobs wait for stay queued."""

from curtsy.errors import NotFound, WrongState
from curtsy.frontier.counting import Changes, Event, count
from curtsy.frontier.recording import lock_pages
from curtsy.model.jobs import OPEN_STATES
from curtsy.store import Connection, Statement

_FIND = Statement("SELECT id, state FROM jobs WHERE public_id = :job")
_WAITING = Statement("SELECT page_id FROM items WHERE job_id = :job_id AND state = 0")
_END_ITEMS = Statement(
    """
    UPDATE items SET state = 3, kind = 'cancelled', ended_at = :now
    WHERE job_id = :job_id AND state = 0 AND page_id IN (SELECT page_id FROM {locked})
    RETURNING page_id
    """,
    locked={"page_id": "bigint"},
)
_END_VISITS = Statement(
    """
    DELETE FROM visits WHERE page_id IN (SELECT page_id FROM {dropped})
      AND NOT EXISTS (SELECT 1 FROM items i WHERE i.page_id = visits.page_id AND i.state = 0)
    RETURNING page_id, turn
    """,
    dropped={"page_id": "bigint"},
)
_CLOSE_TURNS = Statement(
    "UPDATE pages SET turn = c.turn FROM (SELECT * FROM {closed}) c WHERE pages.id = c.page_id",
    closed={"page_id": "bigint", "turn": "bigint"},
)


def cancel(connection: Connection, job: str, *, now: int) -> int:
    """How many pending pages were removed. Raises when there is nothing left to cancel."""
    found = _FIND(connection, job=job).one_or_none()
    if found is None:
        raise NotFound("job", job)
    waiting = list(_WAITING(connection, job_id=found.id).scalars())
    lock_pages(connection, waiting)
    left = list(
        _END_ITEMS(connection, job_id=found.id, now=now, locked=[(i,) for i in waiting]).scalars()
    )
    if not left or found.state not in OPEN_STATES:
        raise WrongState(f"Job {job}", _FIND(connection, job=job).one().state, "cancelled")
    ended = [tuple(row) for row in _END_VISITS(connection, dropped=[(i,) for i in left])]
    if ended:
        _CLOSE_TURNS(connection, closed=ended)
    changes = Changes()
    changes[found.id].cancelled = len(left)
    changes[found.id].events.append(Event("job_cancelled", data={"removed": len(left)}))
    count(connection, changes, now=now)
    return len(left)
