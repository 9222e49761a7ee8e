"""Runs that give way: the next slot of their schedule, or a run by hand, takes their place.

A run is cancelled in a transaction before the one that fires, since that comes to sources before
pages. Whoever cancels holds the schedule and asks again whether the slot is still to come: in the
meantime another process may have fired it, and then the run that goes on is the slot's own.
"""

from contextlib import suppress
from typing import Any, NamedTuple

from curtsy.clock import rfc3339
from curtsy.errors import NotFound, WrongState
from curtsy.jobs import cancel
from curtsy.schedules.due import COLUMNS, schedule_state
from curtsy.schedules.firer import BATCH, Firer
from curtsy.schedules.lookup import locked
from curtsy.schedules.verdict import Overlap, judge
from curtsy.store import Connection, Statement
from curtsy.timetable import BadRule

BY_HAND = "A run by hand took its place."

_IN_THE_WAY = Statement(
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
    """What may have to give way to a slot that is due."""
    return [RunToReplace(*row) for row in _IN_THE_WAY(connection, now=now, most=BATCH)]


def replace_run(connection: Connection, found: RunToReplace, firer: Firer, *, now: int) -> bool:
    """Cancel it, if a slot is to fire in its place: not for one that is missed, waits, or would be
    refused; nor if somebody else has the schedule in hand."""
    row = _STILL_DUE(connection, id=found.schedule_id, now=now).one_or_none()
    firer.require_same_time(connection)
    at = _slot(row, now) if row is not None else None
    if at is None or firer.refusal(connection, row, now) is not None:
        return False
    with suppress(NotFound, WrongState):  # it has just ended by itself
        cancel(connection, found.job, now=now, reason=f"The slot of {rfc3339(at)} took its place.")
        return True
    return False


def _slot(row: Any, now: int) -> int | None:
    """The one that fires as soon as there is room for it."""
    with suppress(BadRule):  # it is told when it comes to firing
        verdict = judge(schedule_state(row, is_busy=True, ended_at=None), now)
        return verdict.fire if verdict.replaces else None
    return None


def replace_by_hand(connection: Connection, schedule: str, firer: Firer, *, now: int) -> bool:
    """A run that goes on is cancelled, where one by hand replaces it. False: runs of this schedule
    give way to none. Raises what would refuse the run by hand, and then nothing is cancelled."""
    row = locked(connection, schedule)
    if row.overlap != Overlap.CANCEL_RUNNING:
        return False
    if (refusal := firer.refusal(connection, row, now)) is not None:
        raise refusal
    if (running := _RUNNING(connection, id=row.id).scalar()) is not None:
        with suppress(NotFound, WrongState):  # it has just ended by itself
            cancel(connection, running, now=now, reason=BY_HAND)
    return True


def require_none_running(connection: Connection, row: Any) -> None:
    """Of a schedule that is held, whose runs do not go on beside each other."""
    running = _RUNNING(connection, id=row.id).scalar()
    if row.overlap != Overlap.ALLOW and running is not None:
        raise WrongState(f"Schedule {row.name}", f"running as {running}", "run beside it")
