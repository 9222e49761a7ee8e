"""Cancels runs that the next slot of their schedule, or a manual run, replaces.

A run is cancelled in a transaction before the one that fires, because firing locks sources before
pages. The canceller locks the schedule and checks again that the slot is still to fire: another
process may have fired the slot in the meantime, and then the open run is the slot's own.
"""

from contextlib import suppress
from typing import NamedTuple

from curtsy.clock import rfc3339
from curtsy.errors import NotFound, WrongState
from curtsy.jobs import cancel
from curtsy.schedules.due import schedule_state
from curtsy.schedules.firer import BATCH, Firer
from curtsy.schedules.lookup import COLUMNS, Schedule, locked, schedule_of
from curtsy.schedules.verdict import Overlap, judge
from curtsy.store import Connection, Statement
from curtsy.timetable import BadRule

REPLACED_MANUALLY = "A manual run replaced this run."

_REPLACEABLE = Statement(
    """
    SELECT s.id AS schedule_id, j.public_id AS job FROM schedules s
    JOIN jobs j ON j.schedule_id = s.id
    WHERE s.look_at <= :now AND s.overlap = 'cancel_running' AND j.schedule_id IS NOT NULL
      AND j.finished_at IS NULL AND j.state <> 'scheduled'
    ORDER BY s.look_at LIMIT :most
    """
)
_STILL_DUE = Statement(
    f"SELECT {COLUMNS} FROM schedules s WHERE s.id = :id AND s.look_at <= :now {{lock_skip}}"  # noqa: S608
)
_RUNNING = Statement(
    """
    SELECT public_id FROM jobs WHERE schedule_id = :id AND schedule_id IS NOT NULL
      AND finished_at IS NULL AND state <> 'scheduled' ORDER BY id LIMIT 1
    """
)


class RunToReplace(NamedTuple):
    schedule_id: int
    job: str


def runs_to_replace(connection: Connection, now: int) -> list[RunToReplace]:
    """Lists open runs that a due slot may replace."""
    return [RunToReplace(*row) for row in _REPLACEABLE(connection, now=now, most=BATCH)]


def replace_run(connection: Connection, found: RunToReplace, firer: Firer, *, now: int) -> bool:
    """Cancels the run if a slot is about to fire in its place; not for a slot that is missed, waits
    or would be refused, nor while another process has locked the schedule."""
    due = _STILL_DUE(connection, id=found.schedule_id, now=now).one_or_none()
    firer.require_same_time(connection)
    row = schedule_of(due) if due is not None else None
    at = _slot(row, now) if row is not None else None
    if row is None or at is None or firer.refusal(connection, row, now) is not None:
        return False
    with suppress(NotFound, WrongState):  # the run has just ended
        cancel(connection, found.job, now=now, reason=f"The slot of {rfc3339(at)} replaced it.")
        return True
    return False


def _slot(row: Schedule, now: int) -> int | None:
    """Returns the slot that fires as soon as the open run is cancelled."""
    with suppress(BadRule):  # the firer reports the error
        verdict = judge(schedule_state(row, is_busy=True, ended_at=None), now)
        return verdict.fire if verdict.replaces else None
    return None


def replace_manually(connection: Connection, schedule: str, firer: Firer, *, now: int) -> bool:
    """Cancels the open run of a schedule whose manual runs replace it. Returns False if runs of the
    schedule are never replaced. Raises the refusal that a manual run would get, without cancelling
    anything."""
    row = locked(connection, schedule)
    if row.overlap != Overlap.CANCEL_RUNNING:
        return False
    if (refusal := firer.refusal(connection, row, now)) is not None:
        raise refusal
    if (running := _RUNNING(connection, id=row.id).scalar()) is not None:
        with suppress(NotFound, WrongState):  # the run has just ended
            cancel(connection, running, now=now, reason=REPLACED_MANUALLY)
    return True


def require_none_running(connection: Connection, row: Schedule) -> None:
    """Raises `WrongState` if a run of this locked schedule is open and runs may not overlap."""
    running = _RUNNING(connection, id=row.id).scalar()
    if row.overlap != Overlap.ALLOW and running is not None:
        raise WrongState(
            f"Schedule {row.name}", f"running as {running}", "run again before that run ends"
        )
