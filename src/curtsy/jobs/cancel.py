"""Cancels a job: its waiting items end; pages that other jobs wait for stay queued."""

from curtsy.errors import NotFound, WrongState
from curtsy.frontier.crawls.leads import delete_leads, lock_crawl
from curtsy.frontier.crawls.lists import delete_lists
from curtsy.frontier.flush_rows import lock_pages
from curtsy.frontier.job_counts import Changes, Event, count
from curtsy.frontier.withdraw import cancel_items, drop_visits
from curtsy.model.job_states import OPEN_STATES, JobState
from curtsy.store import Connection, Statement, savepoint

_FIND = Statement("SELECT id, state FROM jobs WHERE public_id = :job")
_LOCK_SCHEDULED = Statement(  # unless its slot came just now
    "UPDATE jobs SET due_at = due_at WHERE id = :id AND state = 'scheduled'"
)
_WAITING = Statement("SELECT page_id FROM items WHERE job_id = :job_id AND state = 0")


def cancel(connection: Connection, job: str, *, now: int, reason: str | None = None) -> int:
    """Cancels the job and returns how many pending pages were removed. Raises when there is nothing
    to cancel. The event has the `reason`, if a job is not cancelled on request."""
    found = _FIND(connection, job=job).one_or_none()
    if found is None:
        raise NotFound("job", job)
    if found.state == JobState.SCHEDULED and _lock_scheduled(connection, found.id):
        return _cancel_scheduled(connection, found.id, now, reason)
    lock_crawl(connection, found.id)
    waiting = list(_WAITING(connection, job_id=found.id).scalars())
    lock_pages(connection, waiting)
    cancelled = cancel_items(connection, found.id, waiting, now=now)
    leads = delete_leads(connection, found.id) + delete_lists(connection, found.id)
    if not (cancelled or leads) or found.state not in OPEN_STATES:
        raise WrongState(f"Job {job}", _FIND(connection, job=job).one().state, "cancelled")
    drop_visits(connection, cancelled)
    changes = Changes()
    changes[found.id].events.append(_event(len(cancelled), reason))
    changes[found.id].links_waiting = -leads
    changes[found.id].cut_short = leads > 0
    count(connection, changes, now=now)
    return len(cancelled)


def _lock_scheduled(connection: Connection, job_id: int) -> bool:
    """Locks the job if it still waits for its slot, and returns whether it does. If not, releases
    its row again: PostgreSQL keeps the row locked though nothing was changed, and all other
    transactions lock the crawl and the pages before the job."""
    with savepoint(connection) as attempt:
        waits = bool(_LOCK_SCHEDULED(connection, id=job_id).rowcount)
        if not waits:
            attempt.rollback()
    return waits


def _event(removed: int, reason: str | None) -> Event:
    data = {"removed": removed} | ({"reason": reason} if reason else {})
    return Event("job_cancelled", data=data, cancelled=removed)


def _cancel_scheduled(connection: Connection, job_id: int, now: int, reason: str | None) -> int:
    """A job whose slot has not come has no pages yet."""
    changes = Changes()
    changes[job_id].events.append(_event(0, reason))
    changes[job_id].called_off = True
    count(connection, changes, now=now)
    return 0
