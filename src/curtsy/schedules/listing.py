"""What the screens of schedules read."""

from typing import Any

from curtsy.clock import HOUR
from curtsy.schedules.due import COLUMNS
from curtsy.store import Connection, Statement

_LIST = Statement(
    f"""
    SELECT {COLUMNS}, f.outcome AS last_outcome, j.state AS last_state, j.door AS last_door,
           j.done AS last_done
    FROM schedules s
    LEFT JOIN firings f ON f.schedule_id = s.id AND f.fire_at = s.last_fire_at
    LEFT JOIN jobs j ON j.id = f.job_id
    WHERE s.id > :after AND (:all OR s.user_id = :user) ORDER BY s.id LIMIT :most
    """  # noqa: S608
)
_RUNS = Statement(
    """
    SELECT f.fire_at, f.fired_at, f.trigger, f.outcome, f.message, j.public_id AS job, j.state,
           j.door, j.done
    FROM firings f LEFT JOIN jobs j ON j.id = f.job_id
    WHERE f.schedule_id = :id AND f.fire_at < :before ORDER BY f.fire_at DESC LIMIT :most
    """
)
_KEPT = Statement(
    """
    SELECT count(*) AS schedules, count(CASE WHEN enabled THEN 1 END) AS enabled,
           min(look_at) AS next_at, max(last_fire_at) AS last_at FROM schedules
    """
)
_SCHEDULERS = Statement("SELECT count(*) FROM schedulers WHERE ticked_at > :since")
_LAG = Statement(
    """
    SELECT max(fired_at - fire_at) AS worst, count(*) AS fired,
           count(CASE WHEN fired_at - fire_at > :late THEN 1 END) AS late
    FROM firings
    WHERE fired_at > :since AND trigger = 'schedule' AND outcome = 'fired' AND NOT waited
    """
)

_NEWEST_LAGS = Statement(
    """
    SELECT fired_at - fire_at AS lag FROM firings
    WHERE fired_at > :since AND trigger = 'schedule' AND outcome = 'fired' AND NOT waited
    ORDER BY fired_at DESC LIMIT :most
    """
)


def list_schedules(connection: Connection, *, user: str | None, after: int, most: int) -> list[Any]:
    """In the order in which they were made; with a user, that one's alone."""
    rows = _LIST(connection, user=user, all=user is None, after=after, most=most)
    return list(rows)


def list_runs(connection: Connection, schedule_id: int, *, before: int, most: int) -> list[Any]:
    """The newest slot first."""
    return list(_RUNS(connection, id=schedule_id, before=before, most=most))


def read_status(connection: Connection, *, now: int, alive: int, late: int) -> dict[str, Any]:
    """Who keeps the schedules and how well, over the last hour. A slot that waited for the run
    before it, as it was told to, was not late by that."""
    kept = _KEPT(connection).one()
    lag = _LAG(connection, since=now - HOUR, late=late).one()
    schedulers = _SCHEDULERS(connection, since=now - alive).scalar_one()
    return {
        "schedulers": schedulers, "schedules": kept.schedules, "enabled": kept.enabled,
        "next_at": kept.next_at, "last_at": kept.last_at, "worst_lag": lag.worst,
        "fired": lag.fired, "late": lag.late,
    }  # fmt: skip


def newest_lags(connection: Connection, *, now: int, most: int) -> list[int]:
    """Milliseconds from a slot to its firing, of those that fired in the last hour."""
    return list(_NEWEST_LAGS(connection, since=now - HOUR, most=most).scalars())
