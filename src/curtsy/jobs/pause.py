"""Hold a job: its waiting pages leave the queue unless others wait for them, and come back."""

from collections.abc import Sequence
from typing import Any

from curtsy.errors import NotFound, WrongState
from curtsy.frontier.crawls import hold_crawl
from curtsy.frontier.flush_rows import lock_pages
from curtsy.frontier.job_counts import Changes, Event, count
from curtsy.frontier.reopen import OldItem, visit_again, wake_and_lock
from curtsy.frontier.withdraw import drop_visits
from curtsy.model.jobs import OPEN_STATES, JobState
from curtsy.store import Connection, Statement

_FIND = Statement("SELECT id, state, paused_at FROM jobs WHERE public_id = :job")
# Those that failed as well: a retry makes them wait, and must not do so unseen.
_UNSETTLED = Statement(
    """
    SELECT i.job_id, i.position, i.page_id, i.priority, h.source_id, i.depth FROM items i
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


def pause(connection: Connection, job: str, *, now: int) -> int:
    """How many pages wait aside. What is in flight is dropped within a second."""
    found = _found(connection, job)
    hold_crawl(connection, found.id)
    unsettled = _unsettled(connection, found.id)
    lock_pages(connection, sorted({item.page_id for item in unsettled}))
    if _PAUSE(connection, id=found.id, now=now).rowcount == 0:
        raise _wrong_state(connection, job, "paused")
    waiting = _still_waiting(connection, found.id, unsettled)
    drop_visits(connection, [item.page_id for item in waiting])
    _tell(connection, found.id, "job_paused", len(waiting), now=now)
    return len(waiting)


def resume(connection: Connection, job: str, *, now: int) -> int:
    """How many pages wait again."""
    found = _found(connection, job)
    unsettled = _unsettled(connection, found.id)
    bands = wake_and_lock(connection, unsettled, now=now)
    if _RESUME(connection, id=found.id, now=now).rowcount == 0:
        raise _wrong_state(connection, job, "resumed")
    waiting = _still_waiting(connection, found.id, unsettled)
    visit_again(connection, waiting, bands, now=now)
    _tell(connection, found.id, "job_resumed", len(waiting), now=now)
    return len(waiting)


def _found(connection: Connection, job: str) -> Any:
    found = _FIND(connection, job=job).one_or_none()
    if found is None:
        raise NotFound("job", job)
    return found


def _wrong_state(connection: Connection, job: str, asked: str) -> WrongState:
    found = _found(connection, job)
    if found.state in OPEN_STATES and found.state != JobState.SCHEDULED:
        return WrongState(f"Job {job}", "paused" if found.paused_at else "not paused", asked)
    return WrongState(f"Job {job}", found.state, asked)


def _unsettled(connection: Connection, job_id: int) -> list[OldItem]:
    return [OldItem._make(row) for row in _UNSETTLED(connection, job_id=job_id)]


def _still_waiting(connection: Connection, job_id: int, locked: Sequence[OldItem]) -> list[OldItem]:
    """Asked under the pages' locks: until then some may have ended, or begun to wait."""
    places = set(_WAITING(connection, job_id=job_id).scalars())
    return [item for item in locked if item.position in places]


def _tell(connection: Connection, job_id: int, name: str, pages: int, *, now: int) -> None:
    changes = Changes()
    changes[job_id].events.append(Event(name, data={"pages": pages}))
    count(connection, changes, now=now)
