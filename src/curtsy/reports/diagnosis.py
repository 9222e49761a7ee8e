"""The report behind `curtsy doctor`: workers, sources and bounded counts, read at one moment."""

from dataclasses import dataclass

import orjson

from curtsy.clock import MINUTE
from curtsy.model.counts import Count
from curtsy.model.job_states import OPEN_STATES
from curtsy.model.worker_places import WorkerPlace, split_program
from curtsy.store import Connection, Lookup, Statement

COUNT_CAP = 100_000
SCHEDULER_ALIVE = MINUTE


@dataclass(frozen=True, slots=True)
class Worker:
    id: str
    machine: str
    pid: int
    program: str
    place: WorkerPlace | None
    """Among the workers of one command; None: it is the only one."""
    lease_until: int
    alive: bool
    """Its lease has not expired."""
    draining: bool
    in_flight: int
    memory_bytes: int | None
    """Resident, with the processes that run its scrapers; None: its system does not tell."""


@dataclass(frozen=True, slots=True)
class Scheduler:
    id: str
    machine: str
    pid: int
    program: str
    ticked_at: int
    alive: bool


@dataclass(frozen=True, slots=True)
class Source:
    name: str
    owner: str | None
    epoch: int
    band: int
    ready_at: int | None
    """None: no visit waits here."""
    next_fetch_at: int | None
    paused: bool
    fail_streak: int
    crash_streak: int
    failing_since: int | None


@dataclass(frozen=True, slots=True)
class Diagnosis:
    engine: str
    now: int
    """The database's time."""
    workers: list[Worker]
    sources: list[Source]
    """Failing sources first, then paused, then leased, then those that are due next."""
    sources_in_all: Count
    open_jobs: dict[str, Count]
    pending_visits: Count
    dead_letters: Count
    late_schedules: Count
    """Schedules whose slot was due a minute ago and that nobody fired."""
    schedulers: int
    """Schedulers that are alive."""
    scheduler_processes: list[Scheduler]
    """All that did not leave in order, alive or silent."""


_NOW = Statement("SELECT {clock} AS now")
_WORKERS = Statement(
    """
    SELECT id, machine, pid, program, lease_until, draining, in_flight, memory_bytes
    FROM workers
    ORDER BY started_at, id
    """
)
_SOURCES = Statement(
    """
    SELECT name, owner, epoch, band, ready_at, next_fetch_at, paused, fail_streak, crash_streak,
           failing_since
    FROM sources
    ORDER BY crash_streak + fail_streak DESC, paused DESC, (owner IS NOT NULL) DESC,
             (ready_at IS NULL), ready_at, name
    LIMIT :most
    """
)
_COUNT_OPEN_JOBS = Lookup(
    """
    SELECT {each_state} AS state, count(*) AS number
    FROM (SELECT 1 FROM jobs WHERE state = {each_state} LIMIT :most) AS counted
    """,
    each={"state": "text"},
)
_COUNT_SOURCES = Statement("SELECT count(*) FROM (SELECT 1 FROM sources LIMIT :most) AS counted")
_COUNT_VISITS = Statement("SELECT count(*) FROM (SELECT 1 FROM visits LIMIT :most) AS counted")
_COUNT_LETTERS = Statement(
    """
    SELECT count(*) FROM (SELECT 1 FROM dead_letters WHERE state = 'open' LIMIT :most) AS counted
    """
)

_COUNT_LATE = Statement(
    """
    SELECT count(*) FROM (SELECT 1 FROM schedules WHERE look_at < :before LIMIT :most) AS counted
    """
)
_SCHEDULERS = Statement(
    "SELECT id, machine, pid, program, ticked_at FROM schedulers ORDER BY started_at, id"
)


def diagnose(connection: Connection, *, sources: int, now: int | None = None) -> Diagnosis:
    """Reads the report, with at most this many sources, by the database's clock if no time is
    given."""
    if now is None:
        now = int(_NOW(connection).scalar_one())
    states = [(str(state),) for state in OPEN_STATES]
    open_jobs = _COUNT_OPEN_JOBS(connection, states, most=COUNT_CAP + 1)
    schedulers = _schedulers(connection, now)
    return Diagnosis(
        engine=connection.engine,
        now=now,
        workers=_workers(connection, now),
        sources=_sources(connection, sources),
        sources_in_all=_count(connection, _COUNT_SOURCES),
        open_jobs={row.state: Count.up_to(COUNT_CAP, row.number) for row in open_jobs},
        pending_visits=_count(connection, _COUNT_VISITS),
        dead_letters=_count(connection, _COUNT_LETTERS),
        late_schedules=_count(connection, _COUNT_LATE, before=now - MINUTE),
        schedulers=sum(one.alive for one in schedulers),
        scheduler_processes=schedulers,
    )


def waiting_visits(connection: Connection) -> Count:
    return _count(connection, _COUNT_VISITS)


def _count(connection: Connection, statement: Statement, **values: int) -> Count:
    number = statement(connection, most=COUNT_CAP + 1, **values).scalar_one()
    return Count.up_to(COUNT_CAP, number)


def _workers(connection: Connection, now: int) -> list[Worker]:
    return [
        Worker(
            id=row.id, machine=row.machine, pid=row.pid, program=program, place=place,
            lease_until=row.lease_until, alive=row.lease_until > now, draining=bool(row.draining),
            in_flight=len(orjson.loads(row.in_flight)), memory_bytes=row.memory_bytes,
        )
        for row in _WORKERS(connection)
        for program, place in (split_program(row.program),)
    ]  # fmt: skip


def _schedulers(connection: Connection, now: int) -> list[Scheduler]:
    return [
        Scheduler(row.id, row.machine, row.pid, row.program, row.ticked_at,
                  alive=row.ticked_at > now - SCHEDULER_ALIVE)
        for row in _SCHEDULERS(connection)
    ]  # fmt: skip


def _sources(connection: Connection, most: int) -> list[Source]:
    return [
        Source(
            name=row.name, owner=row.owner, epoch=row.epoch, band=row.band, ready_at=row.ready_at,
            next_fetch_at=row.next_fetch_at, paused=bool(row.paused), fail_streak=row.fail_streak,
            crash_streak=row.crash_streak, failing_since=row.failing_since,
        )
        for row in _SOURCES(connection, most=most)
    ]  # fmt: skip
