"""One time for all processes: the database's, and what happens when its clock jumps.

Stored waits are instants of the database's clock. Whoever notices that this clock moved against
its own monotonic one shifts all stored waits by as much, once: the version decides who. Of a
move of a moment only the distance to a source's last request is shifted: what else is stored
is not that exact, and clocks of some machines are set every few minutes.
"""

from curtsy.clock import HOUR, Clock
from curtsy.logs import logger
from curtsy.store import Connection, Statement, Store

log = logger("frontier")

A_MOMENT = 250
_TELL = Statement("SELECT {clock} AS now, version FROM clock")
_CLAIM_SHIFT = Statement("UPDATE clock SET version = version + 1 WHERE version = :version")
_SHIFT = (
    Statement(  # a slot that counts from the end of a run is a wait; `not_before` is none
        """
        UPDATE schedules SET next_fire_at = next_fire_at + :by, look_at = look_at + :by
        WHERE look_at = next_fire_at AND rule LIKE '%"after_end": true%'
            AND next_fire_at <> coalesce(not_before, 0)
        """
    ),
    Statement(  # other slots stay; first, as whoever fires one holds it before a source
        """
        UPDATE schedules SET look_at = look_at + :by WHERE look_at IS NOT NULL
            AND (waiting_fire_at IS NOT NULL OR next_fire_at IS NULL OR look_at <> next_fire_at)
        """
    ),
    Statement(
        """
        UPDATE sources SET ready_at = ready_at + :by, next_fetch_at = next_fetch_at + :by,
            failing_since = failing_since + :by, paced_at = paced_at + :by
        """
    ),
    Statement("UPDATE visits SET due_at = due_at + :by WHERE due_at IS NOT NULL"),
)

_SHIFT_DISTANCE = Statement(
    """
    UPDATE sources SET ready_at = ready_at + :by, next_fetch_at = next_fetch_at + :by,
        paced_at = paced_at + :by
    WHERE next_fetch_at > :since
    """
)


async def synchronise(store: Store, clock: Clock) -> None:
    """Go by the database's time; if it jumped since we last looked, shift what waits."""
    asked_at = clock.monotonic()
    told = await store.read(lambda connection: _TELL(connection).one())
    answered_at = clock.monotonic()
    jumped = clock.jump(told.now, asked_at, answered_at)
    version = told.version
    surer = (answered_at - asked_at) // 2 < clock.doubt
    if clock.version == version and not jumped:
        if surer:
            clock.adopt(told.now, asked_at, answered_at, version)
        return
    if clock.version == version:
        since = told.now - HOUR
        shifted = await store.write(lambda c: _shift(c, version, jumped, since=since))
        if abs(jumped) > A_MOMENT:
            log.warning("clock_jumped", by_ms=jumped, shifted=shifted)
        else:
            log.info("clock_was_set", by_ms=jumped, shifted=shifted)
        version += 1
    clock.adopt(told.now, asked_at, answered_at, version)


def _shift(connection: Connection, version: int, by: int, *, since: int) -> bool:
    if _CLAIM_SHIFT(connection, version=version).rowcount == 0:
        return False
    if abs(by) <= A_MOMENT:
        _SHIFT_DISTANCE(connection, by=by, since=since)
        return True
    for statement in _SHIFT:
        statement(connection, by=by)
    return True
