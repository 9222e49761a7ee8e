"""Reads the values of the whole system: success, workers, missed slots."""

from curtsy.alerts.evaluation import UNKNOWN, Values
from curtsy.clock import MINUTE
from curtsy.history.reader import SAME_FOR, newest, totals
from curtsy.history.totals import Totals
from curtsy.store import Connection, Statement

MOST_SCHEDULES = 1_000
MEGABYTE = 1_000_000
LAPSED = 5 * MINUTE
"""After this, a worker without a heartbeat is gone also where nobody declares it dead."""

_WORKERS = Statement(
    """
    SELECT id, machine, memory_bytes, draining, lease_until, lease_until > :now AS is_live
    FROM workers ORDER BY id
    """
)
_MISSED = Statement(
    """
    SELECT s.owner, s.name, count(*) AS number
    FROM firings f JOIN schedules s ON s.id = f.schedule_id
    WHERE f.fired_at > :since AND f.fired_at <= :now AND f.outcome IN ('missed', 'refused')
    GROUP BY s.owner, s.name ORDER BY count(*) DESC, s.owner, s.name LIMIT :most
    """
)


def success_rate(connection: Connection, *, now: int, window: int, at_least: int) -> Values:
    """Of the pages that ended in the window; where those are too few, of the last ones before,
    which are not older than `SAME_FOR`."""
    rate = percent_of_success(totals(connection, since=now - window, until=now), at_least)
    if rate is None and window < SAME_FOR:
        last = newest(connection, since=now - SAME_FOR, until=now, ended=at_least)
        rate = percent_of_success(last, at_least)
    return UNKNOWN if rate is None else Values({"": rate})


def percent_of_success(found: Totals, at_least: int) -> float | None:
    """None: fewer pages ended."""
    rate = found.success_rate
    if rate is None or found.succeeded + found.failed < at_least:
        return None
    return 100 * rate


def live_workers(connection: Connection, *, now: int) -> Values:
    """Workers that take work: not those that are shutting down."""
    rows = _WORKERS(connection, now=now)
    return Values({"": float(sum(row.is_live and not row.draining for row in rows))})


def worker_memory(connection: Connection, *, now: int, is_doubtful: bool = False) -> Values:
    """Unknown for a worker whose lease has ended a moment ago, or has perhaps not ended: it may go
    on, until others declare it dead."""
    return Values({
        f"{row.id} on {row.machine}":
            row.memory_bytes / MEGABYTE if row.is_live and row.memory_bytes is not None else None
        for row in _WORKERS(connection, now=now)
        if is_doubtful or row.lease_until > now - LAPSED
    })  # fmt: skip


def missed_slots(connection: Connection, *, now: int, window: int) -> Values:
    """Slots that nobody fired, or that could not be admitted, by the time at which that was
    noticed."""
    rows = list(_MISSED(connection, since=now - window, now=now, most=MOST_SCHEDULES))
    found = {_schedule(row.owner, row.name): float(row.number) for row in rows}
    return Values(found, absent=None if len(rows) >= MOST_SCHEDULES else 0.0)


def _schedule(owner: str, name: str) -> str:
    return f"{owner}/{name}" if owner else name
