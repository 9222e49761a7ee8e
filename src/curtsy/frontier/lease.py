"""Leases sources: no other worker may start a request to a leased source until it is released."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from curtsy.clock import DAY
from curtsy.frontier.receipts import RECEIPT_OF_DAY
from curtsy.model.job_states import Band
from curtsy.politeness.receipt import Receipt
from curtsy.store import Connection, Lookup, Statement

PROBE_EVERY = 5_000
AHEAD = 1_000
"""Milliseconds before its next request may start that a source can be leased: its new owner reads
the queue meanwhile, and the request starts in time."""
LATE_COMMIT = 60_000
"""No transaction that makes a source ready stays open for so long (milliseconds)."""

_READY_OF_BAND = """
    SELECT id FROM (SELECT id FROM sources
    WHERE owner IS NULL AND ready_at IS NOT NULL AND NOT paused
      AND band = {band:d} AND ready_at <= :soon AND ready_at >= :low_{band:d}
      AND (ready_at <= :now OR (ready_at = next_fetch_at AND NOT unreported))
      AND EXISTS (SELECT 1 FROM clock WHERE version = :clock_version)
      AND EXISTS (SELECT 1 FROM workers WHERE id = :worker)
    ORDER BY ready_at LIMIT :want_{band:d} {{lock_skip}}) AS band_{band:d}
    """
_LEASE = Statement(  # materialized, so that no more rows are locked than are leased
    f"""
    WITH picked AS MATERIALIZED (
        {" UNION ALL ".join(_READY_OF_BAND.format(band=band) for band in Band)})
    UPDATE sources SET owner = :worker, epoch = epoch + 1, suspect_page_id = NULL
    WHERE id IN (SELECT id FROM picked)
    RETURNING id, name, epoch, band, ready_at, next_fetch_at, policy, control_version, ranks, looks,
              fail_streak, crash_streak, failing_since, pace, paced_at, delay_ms, unreported,
              {RECEIPT_OF_DAY} AS receipt
    """  # noqa: S608
)
_LOWEST = Lookup(
    """
    SELECT band, ready_at FROM sources
    WHERE owner IS NULL AND ready_at IS NOT NULL AND NOT paused AND band = {each_band}
    ORDER BY ready_at LIMIT 1
    """,
    each={"band": "smallint"},
)
_NEXT_READY = Lookup(  # with a reason to wait other than its pace, it is not leased ahead
    """
    SELECT CASE WHEN ready_at = next_fetch_at AND NOT unreported THEN ready_at - :ahead
        ELSE ready_at END AS at FROM sources
    WHERE owner IS NULL AND ready_at IS NOT NULL AND NOT paused AND band = {each_band}
      AND ready_at > :after ORDER BY ready_at LIMIT 1
    """,
    each={"band": "smallint"},
)


@dataclass(frozen=True, slots=True)
class Lease:
    source_id: int
    name: str
    epoch: int
    band: int
    wait: int
    """Milliseconds until the next request may start: a span, so that no clocks are compared."""
    ahead: int
    """Milliseconds by which the source was leased before it is ready: until then no request may
    start, whatever its pace allows."""
    ready_for: int
    """Milliseconds for which the source was ready and no worker was free."""
    paced: int | None
    """Milliseconds since the last request, to which the spans of `pace` refer."""
    delay_ms: int
    unreported: bool
    """The last owner may have sent more requests than it reported."""
    policy: dict[str, Any]
    control_version: int
    ranks: dict[str, list[int]]
    looks: int
    fail_streak: int
    crash_streak: int
    failing_since: int | None
    pace: dict[str, Any]
    receipt: Receipt | None = None
    """The receipt of today, if there is one."""


class LowWater:
    """The smallest `ready_at` of each band, so that a lease need not scan dead index entries.

    This is sound because `ready_at` is never set before the instant of writing: rows that are not
    visible yet lie above `now - LATE_COMMIT`.
    """

    def __init__(self) -> None:
        self._low: dict[int, int] = {}
        self._probed_at: dict[int, int] = {}
        self._clock_version: int | None = None

    def of(
        self, connection: Connection, bands: Sequence[int], *, now: int, clock_version: int | None
    ) -> Mapping[int, int]:
        if clock_version != self._clock_version:
            self._probed_at.clear()
            self._clock_version = clock_version
        old = [b for b in bands if now - self._probed_at.get(b, -PROBE_EVERY) >= PROBE_EVERY]
        if old:
            lowest = {row.band: row.ready_at for row in _LOWEST(connection, [(b,) for b in old])}
            safe = now - LATE_COMMIT
            self._low |= {band: min(lowest.get(band, safe), safe) for band in old}
            self._probed_at |= dict.fromkeys(old, now)
        return self._low


def lease(
    connection: Connection,
    *,
    worker: str,
    wants: dict[int, int],
    low_water: LowWater,
    clock_version: int | None,
    now: int,
    doubt: int = 0,
) -> list[Lease]:
    """Leases at most `wants` sources of each band that are ready or almost, the longest ready
    first.

    Leases none if this worker was declared dead or if time was shifted since its last
    synchronisation. `doubt` is by how much `now` may be late: sources wait that much longer.
    """
    low = low_water.of(connection, list(wants), now=now, clock_version=clock_version)
    of_bands = {f"want_{band}": wants.get(band, 0) for band in Band}
    of_bands |= {f"low_{band}": low.get(band, 0) for band in Band}
    rows = _LEASE(connection, worker=worker, clock_version=clock_version, now=now,
                  soon=now + AHEAD, day=now // DAY, **of_bands)  # fmt: skip
    return sorted((_lease(row, now - doubt) for row in rows), key=lambda leased: leased.band)


def next_ready(connection: Connection, *, after: int = -1) -> int | None:
    """When the next source can be leased, of those that are ready later than `after`; None: no
    source will be ready."""
    found = _NEXT_READY(connection, [(int(band),) for band in Band], after=after, ahead=AHEAD)
    return min((row.at for row in found), default=None)


def _lease(row: Any, now: int) -> Lease:
    return Lease(
        source_id=row.id,
        name=row.name,
        epoch=row.epoch,
        band=row.band,
        wait=max(0, (row.next_fetch_at or 0) - now),
        ahead=max(0, row.ready_at - now),
        ready_for=max(0, now - row.ready_at),
        paced=None if row.paced_at is None else now - row.paced_at,
        delay_ms=row.delay_ms,
        unreported=bool(row.unreported),
        policy=orjson.loads(row.policy),
        control_version=row.control_version,
        ranks=orjson.loads(row.ranks),
        looks=row.looks,
        fail_streak=row.fail_streak,
        crash_streak=row.crash_streak,
        failing_since=row.failing_since,
        pace=orjson.loads(row.pace) if row.pace else {},
        receipt=Receipt(*orjson.loads(row.receipt)) if row.receipt else None,
    )
