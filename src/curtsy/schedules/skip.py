"""A slot that cannot even be refused in the usual way is laid aside, so that others fire."""

from contextlib import suppress
from typing import Any

from curtsy.clock import HOUR
from curtsy.schedules.due import COLUMNS
from curtsy.schedules.firer import Fired, call_off
from curtsy.schedules.firings import Line, claim
from curtsy.schedules.verdict import LOOK_AGAIN
from curtsy.store import Connection, Statement
from curtsy.timetable import BadRule, Every, from_json, slot_after

ASK_AGAIN = HOUR
"""After so long somebody may know the rule's zone."""

_THIS = Statement(
    f"SELECT {COLUMNS} FROM schedules s WHERE s.id = :id AND s.look_at <= :now {{lock_skip}}"  # noqa: S608
)
_ON = Statement(
    """
    UPDATE schedules SET next_fire_at = :next, look_at = :look_at, waiting_fire_at = NULL,
        first_job = NULL, last_fire_at = :fire_at WHERE id = :id
    """
)


def refuse(connection: Connection, schedule_id: int, reason: str, *, now: int) -> list[Fired]:
    """Nothing, if somebody else has it in hand or has seen to it."""
    row = _THIS(connection, id=schedule_id, now=now).one_or_none()
    if row is None:
        return []
    at = row.waiting_fire_at or row.next_fire_at or now
    refused = Line(row.id, at, "schedule", "refused", reason[:1_000])
    claim(connection, [refused], now=now)
    onward, look_at = _onward(row, now)
    _ON(connection, id=row.id, next=onward, look_at=look_at, fire_at=at)
    if row.first_job:
        call_off(connection, row.first_job, now=now)
    return [Fired(row, at, "refused", message=reason)]


def _onward(row: Any, now: int) -> tuple[int | None, int | None]:
    """The next slot, and when to look."""
    with suppress(BadRule):
        rule = from_json(row.rule)
        if isinstance(rule, Every) and rule.after_end:
            return None, now + LOOK_AGAIN
        onward = slot_after(rule, now, seed=row.public_id)
        return onward, onward
    return row.next_fire_at, now + ASK_AGAIN
