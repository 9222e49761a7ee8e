"""Take a job back: its waiting items end; pages that other jobs wait for stay queued."""

from curtsy.errors import NotFound, WrongState
from curtsy.frontier.crawls import drop_leads, hold_crawl
from curtsy.frontier.flush_rows import lock_pages
from curtsy.frontier.job_counts import Changes, Event, count
from curtsy.frontier.withdraw import cancel_items, drop_visits
from curtsy.model.jobs import OPEN_STATES, JobState
from curtsy.store import Connection, Statement

_FIND = Statement("SELECT id, state FROM jobs WHERE public_id = :job")
_HOLD_SCHEDULED = Statement(  # unless its slot came in this moment
    "UPDATE jobs SET due_at = due_at WHERE id = :id AND state = 'scheduled'"
)
_WAITING = Statement("SELECT page_id FROM items WHERE job_id = :job_id AND state = 0")


def cancel(connection: Connection, job: str, *, now: int, reason: str | None = None) -> int:
    """How many pending pages were removed. Raises when there is nothing left to cancel. A reason is
    told with the event, where it was not simply asked for."""
    found = _FIND(connection, job=job).one_or_none()
    if found is None:
        raise NotFound("job", job)
    if found.state == JobState.SCHEDULED and _held(connection, found.id):
        return _call_off(connection, found.id, now, reason)
    hold_crawl(connection, found.id)
    waiting = list(_WAITING(connection, job_id=found.id).scalars())
    lock_pages(connection, waiting)
    left = cancel_items(connection, found.id, waiting, now=now)
    leads = drop_leads(connection, found.id)
    if not (left or leads) or found.state not in OPEN_STATES:
        raise WrongState(f"Job {job}", _FIND(connection, job=job).one().state, "cancelled")
    drop_visits(connection, left)
    changes = Changes()
    removed = len(left)
    changes[found.id].events.append(_told(removed, reason))
    changes[found.id].links_waiting = -leads
    changes[found.id].cut_short = leads > 0
    count(connection, changes, now=now)
    return len(left)


def _held(connection: Connection, job_id: int) -> bool:
    """Whether it still waits for its slot. If not, its row is let go again: PostgreSQL keeps it
    locked though nothing was changed, and everybody else locks crawl and pages before jobs."""
    with connection.begin_nested() as attempt:
        waits = bool(_HOLD_SCHEDULED(connection, id=job_id).rowcount)
        if not waits:
            attempt.rollback()
    return waits


def _told(removed: int, reason: str | None) -> Event:
    data = {"removed": removed} | ({"reason": reason} if reason else {})
    return Event("job_cancelled", data=data, cancelled=removed)


def _call_off(connection: Connection, job_id: int, now: int, reason: str | None) -> int:
    """One whose slot has not come has no pages yet."""
    changes = Changes()
    changes[job_id].events.append(_told(0, reason))
    changes[job_id].called_off = True
    count(connection, changes, now=now)
    return 0
