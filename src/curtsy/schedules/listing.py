"""Read models of schedules: lists of schedules and firings, and the state of the schedulers."""

from typing import Any, NamedTuple

from curtsy.clock import HOUR
from curtsy.schedules.firings import Outcome, Trigger
from curtsy.schedules.lookup import COLUMNS, Schedule, schedule_of
from curtsy.store import Connection, Statement

_LIST = Statement(
    f"""
    SELECT {COLUMNS}, f.outcome, j.public_id AS job, j.door, j.state, j.done
    FROM schedules s
    LEFT JOIN firings f ON f.schedule_id = s.id AND f.fire_at = s.last_fire_at
    LEFT JOIN jobs j ON j.id = f.job_id
    WHERE s.id > :after AND (:all OR s.user_id = :user) ORDER BY s.id LIMIT :most
    """  # noqa: S608
)
_FIRINGS = Statement(
    """
    SELECT f.fire_at, f.fired_at, f.trigger, f.outcome, f.message, j.public_id AS job, j.door,
           j.state, j.done
    FROM firings f LEFT JOIN jobs j ON j.id = f.job_id
    WHERE f.schedule_id = :id AND f.fire_at < :before ORDER BY f.fire_at DESC LIMIT :most
    """
)
_COUNTS = Statement(
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
    SELECT fired_at - fire_at AS lag, fired_at FROM firings
    WHERE fired_at > :since AND trigger = 'schedule' AND outcome = 'fired' AND NOT waited
    ORDER BY fired_at DESC LIMIT :most
    """
)


class FiredJob(NamedTuple):
    """The job of a slot."""

    public_id: str
    door: str
    state: str
    done: int


class ListedSchedule(NamedTuple):
    """A schedule with the outcome and the job of its last slot."""

    schedule: Schedule
    last_outcome: Outcome | None
    last_job: FiredJob | None


class ListedFiring(NamedTuple):
    """A slot with its outcome and its job."""

    fire_at: int
    fired_at: int
    trigger: Trigger
    outcome: Outcome
    message: str | None
    job: FiredJob | None


class ScheduleCounts(NamedTuple):
    """Schedulers and schedules, and how late slots fired in the last hour."""

    schedulers: int
    schedules: int
    enabled: int
    next_at: int | None
    last_at: int | None
    worst_lag: int | None
    fired: int
    late: int


def list_schedules(
    connection: Connection, *, user: str | None, after: int, most: int
) -> list[ListedSchedule]:
    """Lists schedules in the order of their creation; with a user, only that user's."""
    rows = _LIST(connection, user=user, all=user is None, after=after, most=most)
    width = len(Schedule._fields)
    return [ListedSchedule(schedule_of(row[:width]), row.outcome, _job_of(row)) for row in rows]


def list_firings(
    connection: Connection, schedule_id: int, *, before: int, most: int
) -> list[ListedFiring]:
    """Lists the slots of a schedule, the newest first."""
    rows = _FIRINGS(connection, id=schedule_id, before=before, most=most)
    return [ListedFiring(row.fire_at, row.fired_at, row.trigger, row.outcome, row.message,
                         _job_of(row)) for row in rows]  # fmt: skip


def read_status(connection: Connection, *, now: int, alive: int, late: int) -> ScheduleCounts:
    """Counts schedulers and schedules, and the firings of the last hour. A slot that waited for
    the previous run, as its schedule demands, does not count as late."""
    counts = _COUNTS(connection).one()
    lag = _LAG(connection, since=now - HOUR, late=late).one()
    schedulers = _SCHEDULERS(connection, since=now - alive).scalar_one()
    return ScheduleCounts(
        schedulers=schedulers, schedules=counts.schedules, enabled=counts.enabled,
        next_at=counts.next_at, last_at=counts.last_at, worst_lag=lag.worst, fired=lag.fired,
        late=lag.late,
    )  # fmt: skip


def newest_lags(connection: Connection, *, now: int, most: int) -> list[int]:
    """Milliseconds between slot and firing, for the newest firings of the last hour."""
    return list(_NEWEST_LAGS(connection, since=now - HOUR, most=most).scalars())


def lags_since(connection: Connection, since: int, *, most: int) -> tuple[list[int], int]:
    """Milliseconds between slot and firing, for the newest firings, and since when these are all.
    A slot that waited for the previous run, as its schedule demands, does not count."""
    rows = _NEWEST_LAGS(connection, since=since, most=most).tuples()
    lags = [lag for lag, _fired_at in rows]
    return lags, rows[-1][1] if len(rows) == most else since


def _job_of(row: Any) -> FiredJob | None:
    return None if row.job is None else FiredJob(row.job, row.door, row.state, row.done)
