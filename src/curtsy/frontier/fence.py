"""The fence: only the owner of a source, with the epoch of its lease, may write results and state.

Also stores the pace of sources, releases them, and marks the POSTs that are about to be sent.
"""

from collections.abc import Iterable, Sequence, Set

from curtsy.frontier.batch import NEVER, SourceReport
from curtsy.frontier.receipts import receipt_calls
from curtsy.store import Call, Connection, Statement

RECHECK_AFTER = (1_000, 10_000, 60_000)
"""An empty source is checked again after these pauses, then parked: a submit that commits during
the release saw the source awake and did not wake it."""

_LOCK = Statement(
    """
    SELECT id, owner, epoch FROM sources WHERE id IN (SELECT id FROM {wanted})
    ORDER BY id {lock}
    """,
    wanted={"id": "bigint"},
)
_CLOCK_VERSION = Statement("SELECT version FROM clock")
_STORE_PACE = Statement(
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
_MARK_SENT = Statement(
    """
    UPDATE pages SET sent_turn = :turn
    WHERE id = :page_id AND turn < :turn AND (sent_turn IS NULL OR sent_turn < :turn)
      AND EXISTS (SELECT 1 FROM visits v JOIN sources s ON s.id = v.source_id
                  WHERE v.page_id = :page_id AND v.turn = :turn AND s.owner = :worker)
    RETURNING id
    """
)


def fence(
    connection: Connection,
    reports: Sequence[SourceReport],
    *,
    worker: str,
    also_lock: Iterable[int] = (),
) -> frozenset[int]:
    """Returns which of these sources this worker still owns, and locks them until the transaction
    ends."""
    epochs = {report.source_id: report.epoch for report in reports}
    wanted = [(i,) for i in sorted({*epochs, *also_lock})]
    rows = _LOCK(connection, wanted=wanted)
    return frozenset(r.id for r in rows if r.owner == worker and r.epoch == epochs.get(r.id))


def mark_sent(connection: Connection, page_id: int, turn: int, *, worker: str) -> bool:
    """Returns whether this call set the mark: at most one ever does for a turn of a page, and only
    one of the worker that owns the visit. The mark outlives the visit, as when its job is paused;
    it ends when the result of the turn is stored."""
    marked = _MARK_SENT(connection, page_id=page_id, turn=turn, worker=worker)
    return marked.one_or_none() is not None


class TimeShifted(Exception):
    """The stored waits were shifted after the caller's instants were read from its clock."""


def require_same_time(connection: Connection, clock_version: int | None) -> None:
    """Raises `TimeShifted` unless the caller's instants are in the time of the store. To be called
    after the fence: a concurrent shift has committed before or waits for the locked sources."""
    if clock_version is not None and _CLOCK_VERSION(connection).scalar() != clock_version:
        raise TimeShifted


def pace_calls(reports: Sequence[SourceReport], *, good: Set[int]) -> list[Call]:
    """Returns the calls that store the state and the receipts of the sources. Sources in `good` had
    a result that counts: the worker survived it, so their crash streak ends."""
    if not reports:
        return []
    rows = [
        (r.source_id, r.next_fetch_at, r.delay_ms, r.ranks, r.pace, r.paced_at, r.fail_streak,
         r.failing_since, r.source_id in good)
        for r in reports
    ]  # fmt: skip
    receipts = [(r.source_id, receipt) for r in reports for receipt in r.receipts]
    return [(_STORE_PACE, {"reports": rows}), *receipt_calls(receipts)]


def release(connection: Connection, reports: Sequence[SourceReport], *, now: int) -> None:
    """Releases the sources whose report has a release. A released source is ready now, when a visit
    is due, or parked. A source whose policy has changed in the meantime is ready at once: its next
    owner uses the new policy."""
    rows = []
    for report in reports:
        if (r := report.release) is not None:
            pauses = dict(enumerate(RECHECK_AFTER, 1))
            look_at = now + pauses[r.looks] if r.looks in pauses else NEVER
            rows.append((report.source_id, r.more, r.band, r.known_band, r.looks, look_at,
                         r.control_version))  # fmt: skip
    if rows:
        _RELEASE(connection, released=rows, now=now, never=NEVER)
