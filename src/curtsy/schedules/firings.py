"""The table firings: one row for each slot of a schedule, with its outcome."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from curtsy.store import Connection, Statement

Trigger = Literal["schedule", "manual"]
Outcome = Literal["fired", "waiting", "skipped", "missed", "refused"]

_CLAIM = Statement(  # a waiting slot fires in the row it already has
    """
    INSERT INTO firings (schedule_id, fire_at, fired_at, trigger, outcome, message)
    SELECT schedule_id, fire_at, :now, trigger, outcome, message FROM {made} WHERE true
    ON CONFLICT (schedule_id, fire_at) DO UPDATE SET outcome = excluded.outcome,
        fired_at = excluded.fired_at, message = excluded.message, waited = true
    WHERE firings.outcome = 'waiting' AND excluded.outcome <> 'waiting'
    RETURNING schedule_id, fire_at, outcome
    """,
    made={"schedule_id": "bigint", "fire_at": "bigint", "trigger": "text", "outcome": "text",
          "message": "text"},
)  # fmt: skip
_SETTLE = Statement(
    """
    UPDATE firings SET outcome = e.outcome, message = e.message,
        job_id = (SELECT id FROM jobs WHERE public_id = e.job)
    FROM (SELECT * FROM {ended}) e
    WHERE firings.schedule_id = e.schedule_id AND firings.fire_at = e.fire_at
    """,
    ended={"schedule_id": "bigint", "fire_at": "bigint", "outcome": "text", "job": "text",
           "message": "text"},
)  # fmt: skip

_SKIP_WAITING = Statement(
    """
    UPDATE firings SET outcome = 'skipped', message = :message, fired_at = :now
    WHERE schedule_id = :id AND outcome = 'waiting'
    """
)

_REPORT = Statement(
    """
    UPDATE firings SET outcome = :outcome, message = :message
    WHERE schedule_id = :schedule_id AND fire_at = :fire_at
    """
)

_DELETE_OF = Statement("DELETE FROM firings WHERE schedule_id = :id")
_OLD_FIRINGS = Statement(
    """
    DELETE FROM firings WHERE (schedule_id, fire_at) IN (
        SELECT schedule_id, fire_at FROM firings WHERE fired_at < :before
        ORDER BY fired_at LIMIT :most)
    """
)


class NewFiring(NamedTuple):
    """A slot that is claimed with this outcome."""

    schedule_id: int
    fire_at: int
    trigger: Trigger
    outcome: Outcome
    message: str | None


class FiringResult(NamedTuple):
    """The final outcome of a claimed slot."""

    schedule_id: int
    fire_at: int
    outcome: Outcome
    job: str | None
    message: str | None


def claim(connection: Connection, made: Sequence[NewFiring], *, now: int) -> set[tuple[int, int]]:
    """Inserts firings; returns the (schedule, slot) pairs that this call claimed. Pairs that
    another scheduler claimed before are missing."""
    rows = _CLAIM(connection, made=made, now=now)
    return {(row.schedule_id, row.fire_at) for row in rows}


def settle(connection: Connection, ended: Sequence[FiringResult]) -> None:
    """Stores the outcomes of claimed slots, with their jobs."""
    if ended:
        _SETTLE(connection, ended=ended)


def skip_waiting(connection: Connection, schedule_id: int, message: str, *, now: int) -> None:
    """Marks the slot that waits for the previous run, if there is one, as skipped."""
    _SKIP_WAITING(connection, id=schedule_id, now=now, message=message)


def report(
    connection: Connection, schedule_id: int, fire_at: int, *, outcome: Outcome, message: str | None
) -> None:
    """Stores the outcome of a slot's maintenance task."""
    _REPORT(connection, schedule_id=schedule_id, fire_at=fire_at, outcome=outcome,
            message=message)  # fmt: skip


def delete_old(connection: Connection, *, before: int, most: int) -> int:
    """Deletes at most `most` firings from before `before`; returns how many it deleted."""
    return int(_OLD_FIRINGS(connection, before=before, most=most).rowcount)


def delete_of(connection: Connection, schedule_id: int) -> None:
    _DELETE_OF(connection, id=schedule_id)
