"""Take a job back: its waiting items end; pages that other jobs wait for stay queued."""

from curtsy.errors import NotFound, WrongState
from curtsy.frontier.counting import Changes, Event, count
from curtsy.frontier.crawling import drop_leads, hold_crawl
from curtsy.frontier.recording import lock_pages
from curtsy.model.jobs import OPEN_STATES
from curtsy.store import Connection, Statement
from curtsy.submit.dropping import drop_visits

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


def cancel(connection: Connection, job: str, *, now: int) -> int:
    """How many pending pages were removed. Raises when there is nothing left to cancel."""
    found = _FIND(connection, job=job).one_or_none()
    if found is None:
        raise NotFound("job", job)
    hold_crawl(connection, found.id)
    waiting = list(_WAITING(connection, job_id=found.id).scalars())
    lock_pages(connection, waiting)
    left = list(
        _END_ITEMS(connection, job_id=found.id, now=now, locked=[(i,) for i in waiting]).scalars()
    )
    leads = drop_leads(connection, found.id)
    if not (left or leads) or found.state not in OPEN_STATES:
        raise WrongState(f"Job {job}", _FIND(connection, job=job).one().state, "cancelled")
    drop_visits(connection, left)
    changes = Changes()
    removed = len(left)
    event = Event("job_cancelled", data={"removed": removed}, cancelled=removed)
    changes[found.id].events.append(event)
    changes[found.id].links_waiting = -leads
    count(connection, changes, now=now)
    return len(left)
