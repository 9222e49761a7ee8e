"""One time for all processes: the database's, and what happens when its clock jumps.

Stored waits are instants of the database's clock. Whoever notices that this clock moved against
its own monotonic one shifts all stored waits by as much, once: the version decides who.
"""

from curtsy.clock import Clock
from curtsy.logs import logger
from curtsy.store import Connection, Statement, Store

log = logger("frontier")

_TELL = Statement("SELECT {clock} AS now, version FROM clock")
_CLAIM_SHIFT = Statement("UPDATE clock SET version = version + 1 WHERE version = :version")
_SHIFT = (
    Statement(
        """
        UPDATE sources SET ready_at = ready_at + :by, next_fetch_at = next_fetch_at + :by,
            failing_since = failing_since + :by, gave_up_at = gave_up_at + :by
        """
    ),
    Statement("UPDATE visits SET due_at = due_at + :by WHERE due_at IS NOT NULL"),
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
        shifted = await store.write(lambda connection: _shift(connection, version, jumped))
        log.warning("clock_jumped", by_ms=jumped, shifted=shifted)
        version += 1
    clock.adopt(told.now, asked_at, answered_at, version)


def _shift(connection: Connection, version: int, by: int) -> bool:
    if _CLAIM_SHIFT(connection, version=version).rowcount == 0:
        return False
    for statement in _SHIFT:
        statement(connection, by=by)
    return True
