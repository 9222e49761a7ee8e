"""What became of the slots of all schedules in a period."""

from curtsy.clock import MINUTE
from curtsy.reports.report import ScheduleLine, Schedules
from curtsy.store import Connection, Statement

MOST_LINES = 10
LATE = MINUTE
"""A slot that fires this much after its time was late."""

_SLOTS = Statement(
    """
    SELECT coalesce(s.name, '') AS name,
           sum(CASE WHEN f.outcome = 'fired' THEN 1 ELSE 0 END) AS fired,
           sum(CASE WHEN f.outcome = 'fired' AND NOT f.waited AND f.fired_at - f.fire_at > :late
                    THEN 1 ELSE 0 END) AS late,
           sum(CASE WHEN f.outcome = 'missed' THEN 1 ELSE 0 END) AS missed,
           sum(CASE WHEN f.outcome = 'skipped' THEN 1 ELSE 0 END) AS skipped,
           sum(CASE WHEN f.outcome = 'refused' THEN 1 ELSE 0 END) AS refused,
           max(CASE WHEN f.outcome = 'fired' AND NOT f.waited
                    THEN f.fired_at - f.fire_at END) AS lag
    FROM firings f LEFT JOIN schedules s ON s.id = f.schedule_id
    WHERE f.fired_at >= :since AND f.fired_at < :until AND f.trigger = 'schedule'
    GROUP BY f.schedule_id, s.name
    """
)


def slots(connection: Connection, *, since: int, until: int) -> Schedules:
    """A slot that waited for the run before it is not late."""
    rows = _SLOTS(connection, since=since, until=until, late=LATE).all()
    lines = [
        ScheduleLine(row.name or "a deleted schedule", row.fired, row.late, row.missed, row.refused)
        for row in rows if row.late or row.missed or row.refused
    ]  # fmt: skip
    lines.sort(key=lambda line: (-line.missed - line.refused, -line.late, line.schedule))
    return Schedules(
        fired=sum(row.fired for row in rows), late=sum(row.late for row in rows),
        missed=sum(row.missed for row in rows), skipped=sum(row.skipped for row in rows),
        refused=sum(row.refused for row in rows),
        largest_lag_ms=max((row.lag for row in rows if row.lag is not None), default=None),
        lines=tuple(lines[:MOST_LINES]),
    )  # fmt: skip
