"""Synchronises a process with the clock of the database, and shifts stored waits when it jumps.

Stored waits are instants of the database's clock. A process that notices a jump of this clock
against its own monotonic clock shifts all stored waits by as much. The clock version lets only one
process shift. A small jump shifts only the distance to the last request of a source: other waits
are not that exact, and the clocks of some machines are set every few minutes.
"""

from curtsy.clock import DAY, HOUR, Clock
from curtsy.logs import logger
from curtsy.store import Connection, Statement, Store

log = logger("frontier")

SMALL_JUMP = 250
"""Milliseconds."""
LARGE_JUMP, LONG_SILENCE = HOUR, DAY
"""After such a jump ahead, or such a time since the newest event when a process starts, the time is
doubtful: on SQLite, it is that of this machine."""
_READ = Statement("SELECT {clock} AS now, version FROM clock")
_NEWEST = Statement("SELECT at FROM events ORDER BY seq DESC LIMIT 1")
_CLAIM_SHIFT = Statement("UPDATE clock SET version = version + 1 WHERE version = :version")
_SHIFT = (
    Statement(  # a slot that counts from the end of a run is a wait, but `not_before` is not
        """
        UPDATE schedules SET next_fire_at = next_fire_at + :by, look_at = look_at + :by
        WHERE look_at = next_fire_at AND rule LIKE '%"after_end": true%'
            AND next_fire_at <> coalesce(not_before, 0)
        """
    ),
    Statement(  # other slots stay; before sources, since a firing locks its schedule first
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
    Statement("UPDATE alert_deliveries SET next_at = next_at + :by WHERE state = 'waiting'"),
)

_SHIFT_DISTANCE = Statement(
    """
    UPDATE sources SET ready_at = ready_at + :by, next_fetch_at = next_fetch_at + :by,
        paced_at = paced_at + :by
    WHERE next_fetch_at > :since
    """
)


async def synchronise(store: Store, clock: Clock) -> None:
    """Adopts the database's time; if that jumped since the last call, shifts the stored waits."""
    sent_at = clock.monotonic()
    database = await store.read(lambda connection: _READ(connection).one())
    received_at = clock.monotonic()
    jumped = clock.jump(database.now, sent_at, received_at)
    version = database.version
    is_more_exact = (received_at - sent_at) // 2 < clock.doubt
    if clock.version == version and not jumped:
        if is_more_exact:
            clock.adopt(database.now, sent_at, received_at, version)
        return
    if clock.version == version:
        since = database.now - HOUR
        shifted = await store.write(lambda c: _shift(c, version, jumped, since=since))
        if abs(jumped) > SMALL_JUMP:
            log.warning("clock_jumped", by_ms=jumped, shifted=shifted)
        else:
            log.info("clock_was_set", by_ms=jumped, shifted=shifted)
        version += 1
    if clock.version is None:
        newest = await store.read(lambda connection: _NEWEST(connection).scalar())
        if newest is not None and database.now - newest > LONG_SILENCE:
            clock.went_ahead()
    elif jumped > LARGE_JUMP:
        clock.went_ahead()
    clock.adopt(database.now, sent_at, received_at, version)


def _shift(connection: Connection, version: int, by: int, *, since: int) -> bool:
    if _CLAIM_SHIFT(connection, version=version).rowcount == 0:
        return False
    if abs(by) <= SMALL_JUMP:
        _SHIFT_DISTANCE(connection, by=by, since=since)
        return True
    for statement in _SHIFT:
        statement(connection, by=by)
    return True
