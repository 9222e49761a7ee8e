"""Pauses and resumes a job. The waiting pages of a paused job leave the queue, unless other jobs
wait for them."""

from collections.abc import Sequence
from typing import NamedTuple

from curtsy.errors import NotFound, WrongState
from curtsy.frontier.crawls.leads import lock_crawl
from curtsy.frontier.flush_rows import lock_pages
from curtsy.frontier.job_counts import Changes, Event, count
from curtsy.frontier.reopen import OldItem, visit_again, wake_and_lock
from curtsy.frontier.withdraw import drop_visits
from curtsy.model.job_states import OPEN_STATES, JobState
from curtsy.store import Connection, Statement

_FIND = Statement("SELECT id, state, paused_at FROM jobs WHERE public_id = :job")
# Failed items as well: a concurrent retry makes them wait, and their pages must be locked.
_UNSETTLED = Statement(
    """
    SELECT i.job_id, i.position, i.page_id, i.priority, h.source_id, i.depth, i.uses
    FROM items i
    JOIN pages p ON p.id = i.page_id JOIN hosts h ON h.host = p.host
    WHERE i.job_id = :job_id AND i.state IN (0, 2) ORDER BY i.position
    """
)
_WAITING = Statement("SELECT position FROM items WHERE job_id = :job_id AND state = 0")
_PAUSE = Statement(
    """
    UPDATE jobs SET paused_at = :now, updated_at = :now
    WHERE id = :id AND paused_at IS NULL AND state IN ('queued', 'running')
    """
)
_RESUME = Statement(
    """
    UPDATE jobs SET paused_at = NULL, updated_at = :now
    WHERE id = :id AND paused_at IS NOT NULL AND state IN ('queued', 'running')
    """
)


class _Job(NamedTuple):
    id: int
    state: str
    paused_at: int | None


def pause(connection: Connection, job: str, *, now: int) -> int:
    """Pauses the job and returns how many of its pages are held back. Workers drop requests in
    flight within a second."""
    found = _find(connection, job)
    lock_crawl(connection, found.id)
    unsettled = _unsettled(connection, found.id)
    lock_pages(connection, sorted({item.page_id for item in unsettled}))
    if _PAUSE(connection, id=found.id, now=now).rowcount == 0:
        raise _wrong_state(connection, job, "paused")
    waiting = _still_waiting(connection, found.id, unsettled)
    drop_visits(connection, [item.page_id for item in waiting], goes_on=True)
    _record(connection, found.id, "job_paused", len(waiting), now=now)
    return len(waiting)


def resume(connection: Connection, job: str, *, now: int) -> int:
    """Resumes the job and returns how many of its pages are queued again."""
    found = _find(connection, job)
    unsettled = _unsettled(connection, found.id)
    bands = wake_and_lock(connection, unsettled, now=now)
    if _RESUME(connection, id=found.id, now=now).rowcount == 0:
        raise _wrong_state(connection, job, "resumed")
    waiting = _still_waiting(connection, found.id, unsettled)
    visit_again(connection, waiting, bands, now=now)
    _record(connection, found.id, "job_resumed", len(waiting), now=now)
    return len(waiting)


def _find(connection: Connection, job: str) -> _Job:
    row = _FIND(connection, job=job).one_or_none()
    if row is None:
        raise NotFound("job", job)
    return _Job._make(row)


def _wrong_state(connection: Connection, job: str, action: str) -> WrongState:
    found = _find(connection, job)
    if found.state in OPEN_STATES and found.state != JobState.SCHEDULED:
        return WrongState(f"Job {job}", "paused" if found.paused_at else "not paused", action)
    return WrongState(f"Job {job}", found.state, action)


def _unsettled(connection: Connection, job_id: int) -> list[OldItem]:
    return [OldItem._make(row) for row in _UNSETTLED(connection, job_id=job_id)]


def _still_waiting(connection: Connection, job_id: int, locked: Sequence[OldItem]) -> list[OldItem]:
    """The items that wait, read after their pages were locked: until then items may have ended or
    begun to wait."""
    places = set(_WAITING(connection, job_id=job_id).scalars())
    return [item for item in locked if item.position in places]


def _record(connection: Connection, job_id: int, name: str, pages: int, *, now: int) -> None:
    changes = Changes()
    changes[job_id].events.append(Event(name, data={"pages": pages}))
    count(connection, changes, now=now)
