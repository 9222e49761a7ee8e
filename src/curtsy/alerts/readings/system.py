"""Reads the values of the whole system: success, workers, missed slots."""

from curtsy.alerts.evaluation import UNKNOWN, Values
from curtsy.clock import DAY
from curtsy.history.reader import totals
from curtsy.history.totals import Totals
from curtsy.store import Connection, Statement

MOST_SCHEDULES = 1_000
MEGABYTE = 1_000_000

_WORKERS = Statement(
    """
    SELECT id, machine, memory_bytes, draining FROM workers WHERE lease_until > :now ORDER BY id
    """
)
_MISSED = Statement(
    """
    SELECT s.owner, s.name, count(*) AS number
    FROM firings f JOIN schedules s ON s.id = f.schedule_id
    WHERE f.fired_at > :since AND f.outcome IN ('missed', 'refused')
    GROUP BY s.owner, s.name ORDER BY count(*) DESC, s.owner, s.name LIMIT :most
    """
)


def success_rate(connection: Connection, *, now: int, window: int, at_least: int) -> Values:
    """Of the pages that ended in the window, or in the last day where those are too few."""
    for span in (window, DAY):
        found = totals(connection, since=now - span, until=now)
        rate = percent_of_success(found, at_least)
        if rate is not None:
            return Values({"": rate})
    return UNKNOWN


def percent_of_success(found: Totals, at_least: int) -> float | None:
    """None: fewer pages ended."""
    rate = found.success_rate
    if rate is None or found.succeeded + found.failed < at_least:
        return None
    return 100 * rate


def live_workers(connection: Connection, *, now: int) -> Values:
    """Workers that take work: not those that are shutting down."""
    rows = _WORKERS(connection, now=now)
    return Values({"": float(sum(not row.draining for row in rows))})


def worker_memory(connection: Connection, *, now: int) -> Values:
    return Values({
        f"{row.id} on {row.machine}":
            None if row.memory_bytes is None else row.memory_bytes / MEGABYTE
        for row in _WORKERS(connection, now=now)
    })  # fmt: skip


def missed_slots(connection: Connection, *, now: int, window: int) -> Values:
    """Slots that nobody fired, or that could not be admitted, by the time at which that was
    noticed."""
    rows = list(_MISSED(connection, since=now - window, most=MOST_SCHEDULES))
    found = {_schedule(row.owner, row.name): float(row.number) for row in rows}
    return Values(found, absent=None if len(rows) >= MOST_SCHEDULES else 0.0)


def _schedule(owner: str, name: str) -> str:
    return f"{owner}/{name}" if owner else name
