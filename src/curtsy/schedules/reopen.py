"""Opens slots again that a clock ahead of its time resolved, after the clock was set back.

Such a clock passes slots that have not come: they are stored as missed, skipped or refused, and the
schedule is advanced beyond them. A slot that fired stays fired, however early, so it never fires
twice.
"""

from collections.abc import Sequence, Set

from curtsy.clock import SECOND
from curtsy.jobs.insert import set_due
from curtsy.schedules.lookup import COLUMNS, Schedule, schedule_of
from curtsy.schedules.verdict import RECHECK_EVERY
from curtsy.store import Connection, Statement
from curtsy.timetable import BadRule, Every, Rule, from_json, slot_after, slot_after_end

TOLERANCE = 5 * SECOND
"""How far a stored instant may be ahead of us: the clocks of two processes differ a little."""
BATCH = 100

_JUDGED_AHEAD = Statement(
    f"""
    SELECT {COLUMNS} FROM schedules s WHERE s.enabled AND s.id > :after AND (
        s.id IN (SELECT schedule_id FROM firings WHERE fired_at > :future)
        OR s.updated_at > :future OR s.last_fire_at > :future
        OR (s.look_at > :recheck AND (s.next_fire_at IS NULL OR s.look_at <> s.next_fire_at)))
    ORDER BY s.id LIMIT :most {{lock_skip}}
    """  # noqa: S608
)
_DELETE_RESOLVED = Statement(
    """
    DELETE FROM firings WHERE schedule_id IN (SELECT id FROM {wanted}) AND fire_at > :now
      AND trigger = 'schedule' AND outcome <> 'fired'
    """,
    wanted={"id": "bigint"},
)
_RESOLVED = Statement(
    """
    SELECT schedule_id, fire_at FROM firings
    WHERE schedule_id IN (SELECT id FROM {wanted}) AND fire_at > :now
    """,
    wanted={"id": "bigint"},
)
_SET_BACK = Statement(
    """
    UPDATE schedules SET next_fire_at = b.next_fire_at, look_at = b.look_at,
        waiting_fire_at = b.waiting_fire_at,
        updated_at = CASE WHEN updated_at > :future THEN :now ELSE updated_at END
    FROM (SELECT * FROM {back}) b WHERE schedules.id = b.id
    """,
    back={"id": "bigint", "next_fire_at": "bigint", "look_at": "bigint",
          "waiting_fire_at": "bigint"},
)  # fmt: skip


def reopen(connection: Connection, *, now: int, after: int = 0) -> tuple[int, int | None]:
    """Opens the slots after `now` of a batch of schedules. Returns how many schedules it changed,
    and the id after which the next batch begins; None: there is none."""
    rows = [schedule_of(row) for row in
            _JUDGED_AHEAD(connection, future=now + TOLERANCE, after=after, most=BATCH,
                          recheck=now + RECHECK_EVERY + TOLERANCE)]  # fmt: skip
    wanted = [(row.id,) for row in rows]
    reopened: Sequence[Schedule] = []
    if rows:
        _DELETE_RESOLVED(connection, wanted=wanted, now=now)
        fired = {(row.schedule_id, row.fire_at) for row in
                 _RESOLVED(connection, wanted=wanted, now=now)}  # fmt: skip
        back = {row.id: _set_back(row, fired, now) for row in rows}
        reopened = [back[row.id] for row in rows if back[row.id] != row]
    if reopened:
        _SET_BACK(connection, now=now, future=now + TOLERANCE, back=[
            (row.id, row.next_fire_at, row.look_at, row.waiting_fire_at) for row in reopened
        ])  # fmt: skip
    for row in reopened:
        if row.first_job:
            set_due(connection, row.first_job, row.next_fire_at)
    return len(reopened), rows[-1].id if len(rows) == BATCH else None


def _set_back(row: Schedule, fired: Set[tuple[int, int]], now: int) -> Schedule:
    """Returns the schedule with the slot that is next by this time."""
    try:
        rule = from_json(row.rule)
        onward = _next_slot(row, rule, fired, now)
    except BadRule:
        return row
    waiting = row.waiting_fire_at
    if waiting is not None and waiting > now:
        waiting = None
    judged_later = onward is None and isinstance(rule, Every) and rule.after_end
    look_at = now if judged_later or waiting is not None else onward
    updated_at = min(row.updated_at, now)
    return row._replace(
        next_fire_at=onward, look_at=look_at, waiting_fire_at=waiting, updated_at=updated_at
    )


def _next_slot(row: Schedule, rule: Rule, fired: Set[tuple[int, int]], now: int) -> int | None:
    begin = max(now, (row.not_before or 0) - 1)
    if isinstance(rule, Every) and rule.after_end:
        if row.next_fire_at is None or begin > now:
            return row.next_fire_at
        return min(row.next_fire_at, slot_after_end(rule, now, seed=row.public_id))
    onward = slot_after(rule, begin, seed=row.public_id)
    while onward is not None and (row.id, onward) in fired:
        onward = slot_after(rule, onward, seed=row.public_id)
    # a slot that is due and not judged yet stays
    return row.next_fire_at if _is_before(row.next_fire_at, onward) else onward


def _is_before(at: int | None, other: int | None) -> bool:
    return at is not None and (other is None or at < other)
