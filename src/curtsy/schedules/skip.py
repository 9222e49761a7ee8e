"""Skips a schedule whose firing raised an unexpected error, so that other schedules fire."""

from contextlib import suppress

from curtsy.clock import HOUR
from curtsy.schedules.firer import Fired, cancel_if_open
from curtsy.schedules.firings import NewFiring, claim
from curtsy.schedules.lookup import COLUMNS, Schedule, schedule_of
from curtsy.schedules.verdict import RECHECK_EVERY
from curtsy.store import Connection, Statement
from curtsy.timetable import BadRule, Every, from_json, slot_after

RETRY_AFTER = HOUR
"""For a rule that cannot be read: an update may add its time zone."""

_STILL_DUE = Statement(
    f"SELECT {COLUMNS} FROM schedules s WHERE s.id = :id AND s.look_at <= :now {{lock_skip}}"  # noqa: S608
)
_ADVANCE = Statement(
    """
    UPDATE schedules SET next_fire_at = :next, look_at = :look_at, waiting_fire_at = NULL,
        first_job = NULL, last_fire_at = :fire_at WHERE id = :id
    """
)


def refuse(connection: Connection, schedule_id: int, reason: str, *, now: int) -> list[Fired]:
    """Refuses the due slot of a schedule and advances the schedule. Does nothing if another process
    has locked the schedule or resolved the slot."""
    due = _STILL_DUE(connection, id=schedule_id, now=now).one_or_none()
    if due is None:
        return []
    row = schedule_of(due)
    at = row.waiting_fire_at or row.next_fire_at or now
    refused = NewFiring(row.id, at, "schedule", "refused", reason[:1_000])
    claim(connection, [refused], now=now)
    onward, look_at = _onward(row, now)
    _ADVANCE(connection, id=row.id, next=onward, look_at=look_at, fire_at=at)
    if row.first_job:
        cancel_if_open(connection, row.first_job, now=now)
    return [Fired(row, at, "refused", message=reason)]


def _onward(row: Schedule, now: int) -> tuple[int | None, int | None]:
    """Returns the next slot, and when to read the schedule next."""
    with suppress(BadRule):
        rule = from_json(row.rule)
        if isinstance(rule, Every) and rule.after_end:
            return None, now + RECHECK_EVERY
        onward = slot_after(rule, now, seed=row.public_id)
        return onward, onward
    return row.next_fire_at, now + RETRY_AFTER
