"""Who may write of a source: its owner, under the epoch of its lease, and nobody else."""

from collections.abc import Iterable, Sequence, Set

from curtsy.frontier.batch import NEVER, SourceReport
from curtsy.frontier.receipts import write_receipts
from curtsy.store import Connection, Statement

LOOK_AGAIN = (1_000, 10_000, 60_000)
"""An empty source is looked at so long after each look, then parked: a submit that commits while
we give it back saw it awake and left it alone."""

_LOCK = Statement(
    """
    SELECT id, owner, epoch FROM sources WHERE id IN (SELECT id FROM {wanted})
    ORDER BY id {lock}
    """,
    wanted={"id": "bigint"},
)
_CLOCK_VERSION = Statement("SELECT version FROM clock")
_PACE = Statement(
    """
    UPDATE sources SET next_fetch_at = r.next_fetch_at, delay_ms = r.delay_ms, ranks = r.ranks,
        pace = r.pace, paced_at = r.paced_at, unreported = false, fail_streak = r.fail_streak,
        failing_since = r.failing_since,
        crash_streak = CASE WHEN r.good THEN 0 ELSE sources.crash_streak END
    FROM (SELECT * FROM {reports}) r WHERE sources.id = r.source_id
    """,
    reports={"source_id": "bigint", "next_fetch_at": "bigint", "delay_ms": "bigint",
             "ranks": "text", "pace": "text", "paced_at": "bigint", "fail_streak": "int",
             "failing_since": "bigint", "good": "bool"},
)  # fmt: skip
_RELEASE = Statement(
    """
    UPDATE sources SET owner = NULL, looks = r.looks,
        band = CASE WHEN sources.band < r.known_band THEN sources.band ELSE r.band END,
        ready_at = CASE WHEN sources.control_version <> r.control_version THEN :now
            WHEN r.more OR sources.band < r.known_band OR (
                SELECT page_id FROM visits v
                WHERE v.source_id = sources.id AND v.due_at IS NULL
                ORDER BY priority, rank, page_id LIMIT 1) IS NOT NULL
            THEN {greatest}(:now, coalesce(next_fetch_at, 0))
            ELSE nullif({greatest}(:now, coalesce(next_fetch_at, 0), {least}(r.look_at, coalesce((
                SELECT due_at FROM visits v
                WHERE v.source_id = sources.id AND v.due_at IS NOT NULL
                ORDER BY due_at LIMIT 1), :never))), :never) END
    FROM (SELECT * FROM {released}) r WHERE sources.id = r.source_id
    """,
    released={"source_id": "bigint", "more": "bool", "band": "smallint", "known_band": "smallint",
              "looks": "int", "look_at": "bigint", "control_version": "int"},
)  # fmt: skip


def fence(
    connection: Connection,
    reports: Sequence[SourceReport],
    *,
    worker: str,
    also_lock: Iterable[int] = (),
) -> frozenset[int]:
    """Which of these sources are still ours. They stay so until this transaction ends."""
    epochs = {report.source_id: report.epoch for report in reports}
    wanted = [(i,) for i in sorted({*epochs, *also_lock})]
    rows = _LOCK(connection, wanted=wanted)
    return frozenset(r.id for r in rows if r.owner == worker and r.epoch == epochs.get(r.id))


class TimeShifted(Exception):
    """The stored waits were shifted since the instants that we bring were made."""


def require_same_time(connection: Connection, clock_version: int | None) -> None:
    """Raise unless our instants are of the time that the store goes by. Asked after the fence: a
    shift has to wait for the sources that this transaction holds, or was there before."""
    if clock_version is not None and _CLOCK_VERSION(connection).scalar() != clock_version:
        raise TimeShifted


def store_pace(connection: Connection, reports: Sequence[SourceReport], *, good: Set[int]) -> None:
    """How the sources stand. Those in `good` had a result that counts: the worker lived through
    it, so they are not under suspicion."""
    rows = [
        (r.source_id, r.next_fetch_at, r.delay_ms, r.ranks, r.pace, r.paced_at, r.fail_streak,
         r.failing_since, r.source_id in good)
        for r in reports
    ]  # fmt: skip
    if rows:
        _PACE(connection, reports=rows)
        write_receipts(connection, ((r.source_id, kept) for r in reports for kept in r.receipts))


def release(connection: Connection, reports: Sequence[SourceReport], *, now: int) -> None:
    """Give back those that are to be given back: ready now, when something is due, or parked. One
    whose policy has changed meanwhile is ready: who takes it goes by the new one."""
    rows = []
    for report in reports:
        if (r := report.release) is not None:
            pauses = dict(enumerate(LOOK_AGAIN, 1))
            look_at = now + pauses[r.looks] if r.looks in pauses else NEVER
            rows.append((report.source_id, r.more, r.band, r.known_band, r.looks, look_at,
                         r.control_version))  # fmt: skip
    if rows:
        _RELEASE(connection, released=rows, now=now, never=NEVER)
