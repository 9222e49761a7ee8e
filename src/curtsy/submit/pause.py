"""Hold a job: its waiting pages leave the queue unless others wait for them, and come back."""

from collections.abc import Sequence
from typing import Any

from curtsy.errors import NotFound, WrongState
from curtsy.frontier.counting import Changes, Event, count
from curtsy.frontier.recording import lock_pages
from curtsy.frontier.sources import wake
from curtsy.model.jobs import OPEN_STATES, band_of
from curtsy.store import Connection, Statement
from curtsy.submit.dropping import drop_visits
from curtsy.submit.reopening import OldItem, visit_again

_FIND = Statement("SELECT id, state, paused_at FROM jobs WHERE public_id = :job")
_WAITING = Statement(
    """
    SELECT i.job_id, i.position, i.page_id, i.priority, h.source_id FROM items i
    JOIN pages p ON p.id = i.page_id JOIN hosts h ON h.host = p.host
    WHERE i.job_id = :job_id AND i.state = 0 ORDER BY i.position
    """
)
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
    waiting = [OldItem._make(row) for row in _WAITING(connection, job_id=found.id)]
    lock_pages(connection, sorted({item.page_id for item in waiting}))
    if _PAUSE(connection, id=found.id, now=now).rowcount == 0:
        raise _wrong_state(connection, job, "paused")
    drop_visits(connection, [item.page_id for item in waiting])
    _tell(connection, found.id, "job_paused", len(waiting), now=now)
    return len(waiting)


def resume(connection: Connection, job: str, *, now: int) -> int:
    """How many pages wait again."""
    found = _found(connection, job)
    waiting = [OldItem._make(row) for row in _WAITING(connection, job_id=found.id)]
    bands: dict[int, int] = {}
    for item in waiting:
        bands[item.source_id] = min(bands.get(item.source_id, 3), band_of(item.priority))
    wake(connection, bands, now=now)
    lock_pages(connection, sorted({item.page_id for item in waiting}))
    if _RESUME(connection, id=found.id, now=now).rowcount == 0:
        raise _wrong_state(connection, job, "resumed")
    still = _still_waiting(connection, found.id, waiting)
    visit_again(connection, still, bands, now=now)
    _tell(connection, found.id, "job_resumed", len(still), now=now)
    return len(still)


def _found(connection: Connection, job: str) -> Any:
    found = _FIND(connection, job=job).one_or_none()
    if found is None:
        raise NotFound("job", job)
    return found


def _wrong_state(connection: Connection, job: str, asked: str) -> WrongState:
    found = _found(connection, job)
    if found.state in OPEN_STATES:
        return WrongState(f"Job {job}", "paused" if found.paused_at else "not paused", asked)
    return WrongState(f"Job {job}", found.state, asked)


def _still_waiting(connection: Connection, job_id: int, before: Sequence[OldItem]) -> list[OldItem]:
    """Asked again under the pages' locks: another job's visit may have ended some meanwhile."""
    places = {row.position for row in _WAITING(connection, job_id=job_id)}
    return [item for item in before if item.position in places]


def _tell(connection: Connection, job_id: int, name: str, pages: int, *, now: int) -> None:
    changes = Changes()
    changes[job_id].events.append(Event(name, data={"pages": pages}))
    count(connection, changes, now=now)
