"""The table `workers`: heartbeats, and what happens to the sources of dead workers.

A heartbeat writes only its own row. Death is observed, not computed: a worker is dead when an
observer has not seen its beat grow for a whole lease, on the observer's own monotonic clock. No
clock of one machine is compared with that of another.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import orjson

from curtsy.frontier.flush_rows import lock_pages
from curtsy.store import Connection, Statement

_REGISTER = Statement(
    """
    INSERT INTO workers (id, beat, lease_until, slots, machine, pid, program, program_schema,
                         started_at, memory_bytes)
    VALUES (:id, 0, :lease_until, :slots, :machine, :pid, :program, :schema, :now, :memory_bytes)
    ON CONFLICT (id) DO UPDATE SET lease_until = excluded.lease_until
    """
)
_BEAT = Statement(
    """
    UPDATE workers SET beat = beat + 1, lease_until = :lease_until, in_flight = :in_flight,
        draining = :draining, memory_bytes = :memory_bytes
    WHERE id = :id RETURNING beat
    """
)
_DELETE = Statement("DELETE FROM workers WHERE id = :id")
_BEATS = Statement("SELECT id, beat FROM workers")
_HAS_ORPHANS = Statement(
    """
    SELECT EXISTS (SELECT 1 FROM sources
                   WHERE owner IS NOT NULL AND owner NOT IN (SELECT id FROM workers))
    """
)
_DECLARE_DEAD = Statement(
    """
    DELETE FROM workers WHERE (id, beat) IN (SELECT id, beat FROM {dead}) RETURNING id
    """,
    dead={"id": "text", "beat": "bigint"},
)
_LOCK_ORPHANS = Statement(
    """
    SELECT id, name, suspect_page_id FROM sources
    WHERE owner IS NOT NULL AND owner NOT IN (SELECT id FROM workers)
    ORDER BY id {lock}
    """
)
_RELEASE_ORPHANS = Statement(
    """
    UPDATE sources SET owner = NULL, epoch = epoch + 1, crash_streak = crash_streak + :crashed,
        suspect_page_id = NULL, unreported = true,
        next_fetch_at = {greatest}(coalesce(next_fetch_at, 0), :now + delay_ms),
        ready_at = {greatest}(coalesce(next_fetch_at, 0), :now + delay_ms) + (id * 7919) % 500
    WHERE id IN (SELECT id FROM {orphans}) AND owner IS NOT NULL
      AND owner NOT IN (SELECT id FROM workers)
    """,
    orphans={"id": "bigint"},
)
_COUNT_CRASHES = Statement(
    "UPDATE visits SET crashes = crashes + 1 WHERE page_id IN (SELECT page_id FROM {suspects})",
    suspects={"page_id": "bigint"},
)
_LOCK_FORGOTTEN = Statement(
    """
    SELECT id FROM sources WHERE owner IS NULL AND ready_at IS NULL AND NOT paused
      AND EXISTS (SELECT 1 FROM visits v WHERE v.source_id = sources.id)
    ORDER BY id {lock_skip}
    """
)
_WAKE_FORGOTTEN = Statement(
    """
    UPDATE sources SET ready_at = {greatest}(:now, coalesce(next_fetch_at, 0)), looks = 0
    WHERE id IN (SELECT id FROM {forgotten})
    """,
    forgotten={"id": "bigint"},
)


@dataclass(frozen=True, slots=True)
class WorkerRow:
    id: str
    machine: str
    pid: int
    program: str
    slots: int = 0
    schema: str | None = None
    """The newest that the program knows."""


def register(
    connection: Connection, row: WorkerRow, *, lease_until: int, now: int,
    memory_bytes: int | None = None,
) -> None:  # fmt: skip
    _REGISTER(connection, id=row.id, machine=row.machine, pid=row.pid, program=row.program,
              schema=row.schema, slots=row.slots, lease_until=lease_until, now=now,
              memory_bytes=memory_bytes)  # fmt: skip


def beat(
    connection: Connection,
    worker: str,
    *,
    lease_until: int,
    in_flight: Sequence[int],
    draining: bool,
    memory_bytes: int | None = None,
) -> bool:
    """Stores a heartbeat. False: this worker was declared dead and must drop everything."""
    beaten = _BEAT(connection, id=worker, lease_until=lease_until, draining=draining,
                in_flight=orjson.dumps(list(in_flight)).decode(),
                memory_bytes=memory_bytes)  # fmt: skip
    return beaten.scalar() is not None


def leave(connection: Connection, worker: str, *, now: int) -> None:
    """Ends a worker in order: releases its sources, with their delay. No crash is counted."""
    _DELETE(connection, id=worker)
    _release_orphans(connection, crashed=0, now=now)


def beats(connection: Connection) -> dict[str, int]:
    return {row.id: row.beat for row in _BEATS(connection)}


def has_orphans(connection: Connection) -> bool:
    """Whether a source belongs to a worker that has no row, as after a lease during a reap."""
    return bool(_HAS_ORPHANS(connection).scalar())


def reap(connection: Connection, dead: Sequence[tuple[str, int]], *, now: int) -> list[str]:
    """Declares dead the workers whose beat is still the observed one, and releases the sources of
    all dead workers. Returns the ids of the workers that this call declared dead.

    A dead owner may have started a request until its trust ended, which was before now. Its sources
    therefore wait for their delay from now. The visits need no repair, since a lease does not mark
    them.
    """
    reaped = list(_DECLARE_DEAD(connection, dead=dead).scalars()) if dead else []
    _release_orphans(connection, crashed=1, now=now)
    return reaped


def wake_forgotten(connection: Connection, *, now: int) -> int:
    """Wakes parked sources that have visits, except those that another transaction has locked."""
    forgotten = list(_LOCK_FORGOTTEN(connection).scalars())
    if forgotten:
        _WAKE_FORGOTTEN(connection, forgotten=[(i,) for i in forgotten], now=now)
    return len(forgotten)


def _release_orphans(connection: Connection, *, crashed: int, now: int) -> None:
    orphans = list(_LOCK_ORPHANS(connection))
    if not orphans:
        return
    _RELEASE_ORPHANS(connection, orphans=[(o.id,) for o in orphans], crashed=crashed, now=now)
    suspects = [(o.suspect_page_id,) for o in orphans if o.suspect_page_id is not None]
    if suspects and crashed:
        lock_pages(connection, [page_id for (page_id,) in suspects])
        _COUNT_CRASHES(connection, suspects=suspects)
