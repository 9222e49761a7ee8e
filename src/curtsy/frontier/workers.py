"""Worker rows: who is alive. A heartbeat writes its own row and nothing else.

Death is observed, not computed: a worker whose beat was not seen to grow for a whole lease, on the
observer's own monotonic clock, is dead. No clock of one machine is compared with another's.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import orjson

from curtsy.frontier.flush_rows import lock_pages
from curtsy.store import Connection, Statement


@dataclass(frozen=True, slots=True)
class WorkerRow:
    id: str
    machine: str
    pid: int
    program: str
    slots: int = 0


_REGISTER = Statement(
    """
    INSERT INTO workers (id, beat, lease_until, slots, machine, pid, program, started_at)
    VALUES (:id, 0, :lease_until, :slots, :machine, :pid, :program, :now)
    ON CONFLICT (id) DO UPDATE SET lease_until = excluded.lease_until
    """
)
_BEAT = Statement(
    """
    UPDATE workers SET beat = beat + 1, lease_until = :lease_until, in_flight = :in_flight,
        draining = :draining
    WHERE id = :id RETURNING beat
    """
)
_LEAVE = Statement("DELETE FROM workers WHERE id = :id")
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
_FREE_ORPHANS = Statement(
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
_BLAME = Statement(
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


def register(connection: Connection, row: WorkerRow, *, lease_until: int, now: int) -> None:
    _REGISTER(connection, id=row.id, machine=row.machine, pid=row.pid, program=row.program,
              slots=row.slots, lease_until=lease_until, now=now)  # fmt: skip


def beat(
    connection: Connection,
    worker: str,
    *,
    lease_until: int,
    in_flight: Sequence[int],
    draining: bool,
) -> bool:
    """Show that we live. False: we were declared dead and must drop everything."""
    row = _BEAT(connection, id=worker, lease_until=lease_until, draining=draining,
                in_flight=orjson.dumps(list(in_flight)).decode())  # fmt: skip
    return row.scalar() is not None


def leave(connection: Connection, worker: str, *, now: int) -> None:
    """End in order: what we still own is free, with its delay, and nobody is blamed."""
    _LEAVE(connection, id=worker)
    _free_orphans(connection, crashed=0, now=now)


def beats(connection: Connection) -> dict[str, int]:
    return {row.id: row.beat for row in _BEATS(connection)}


def has_orphans(connection: Connection) -> bool:
    """Some source belongs to a worker that is no more, as when it leased while it was buried."""
    return bool(_HAS_ORPHANS(connection).scalar())


def reap(connection: Connection, dead: Sequence[tuple[str, int]], *, now: int) -> list[str]:
    """Declare dead those whose beat is still the one observed; free the sources of the dead.

    A dead owner may have started a request until its trust ended, which was before now: so its
    sources wait out their delay from now. Their visits were never marked; nothing is to repair.
    """
    buried = list(_DECLARE_DEAD(connection, dead=dead).scalars()) if dead else []
    _free_orphans(connection, crashed=1, now=now)
    return buried


def wake_forgotten(connection: Connection, *, now: int) -> int:
    """Wake parked sources that have visits after all, but for those that somebody is busy with."""
    forgotten = list(_LOCK_FORGOTTEN(connection).scalars())
    if forgotten:
        _WAKE_FORGOTTEN(connection, forgotten=[(i,) for i in forgotten], now=now)
    return len(forgotten)


def _free_orphans(connection: Connection, *, crashed: int, now: int) -> None:
    orphans = list(_LOCK_ORPHANS(connection))
    if not orphans:
        return
    _FREE_ORPHANS(connection, orphans=[(o.id,) for o in orphans], crashed=crashed, now=now)
    suspects = [(o.suspect_page_id,) for o in orphans if o.suspect_page_id is not None]
    if suspects and crashed:
        lock_pages(connection, [page_id for (page_id,) in suspects])
        _BLAME(connection, suspects=suspects)
