"""A tick reads what is due and no more, with 50,000 schedules and the jobs of a long past."""

import pytest

from curtsy.clock import DAY, MINUTE, Clock
from curtsy.schedules import ticker
from curtsy.schedules.firer import Fired
from curtsy.schedules.overlap import runs_to_replace
from curtsy.schedules.verdict import Overlap
from curtsy.sites import run_timeout
from curtsy.store import Connection, Store
from curtsy.timetable import Cron, to_json
from support.engine import Engine, engine
from support.explaining import explained
from support.schedules import firer, made
from support.sql import run, text

MANY, OLD, OPEN, DUE = 50_000, 40_000, 2_000, 10
NUMBERS = "WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {})"
MAKE_SCHEDULES = f"""
    INSERT INTO schedules (public_id, name, rule, payload, window_ms, next_fire_at, look_at,
                           overlap, created_at, updated_at)
    {NUMBERS.format(MANY)}
    SELECT 's' || n, 's' || n, :rule, '', 1, CAST(:later AS bigint) + n,
           CASE WHEN n % 5 > 0 THEN CAST(:later AS bigint) + n END,
           CASE WHEN n % 3 > 0 THEN 'skip' ELSE 'cancel_running' END, 1, 1 FROM n
"""
MAKE_JOBS = f"""
    INSERT INTO jobs (public_id, door, scraper, state, total, done, schedule_id, created_at,
                      updated_at, finished_at)
    {NUMBERS.format(OLD)}
    SELECT 'old_' || n, 'fetch', 'raw', CASE WHEN n > {OPEN} THEN 'succeeded' ELSE 'queued' END,
           1, 1, 1 + n % 1000, n, n, CASE WHEN n > {OPEN} THEN n END FROM n
"""
MAKE_FIRINGS = f"""
    INSERT INTO firings (schedule_id, fire_at, fired_at, trigger, outcome, job_id)
    {NUMBERS.format(OLD)} SELECT 1 + n % 1000, n, n, 'schedule', 'fired', n FROM n
"""
MAKE_EVENTS = f"""
    INSERT INTO events (job_id, n, at, name)
    {NUMBERS.format(OLD)} SELECT n, 1, n, 'job_queued' FROM n
"""


@pytest.fixture
async def crowded(store: Store, clock: Clock) -> Engine:
    return engine(store, clock)


async def filled(curtsy: Engine) -> None:
    """Ten are due, half of which replace a run that goes on."""
    store, clock = curtsy.store, curtsy.clock
    rule = to_json(Cron("0 7 * * *"))
    await curtsy.execute(MAKE_SCHEDULES, rule=rule, later=clock.now() + DAY)
    await curtsy.execute(MAKE_JOBS)
    await curtsy.execute(MAKE_FIRINGS)
    for n in range(DUE):
        overlap = Overlap.CANCEL_RUNNING if n % 2 else Overlap.ALLOW
        row = await made(store, clock, Cron("* * * * *"), name=f"due {n}", overlap=overlap)
        at = {"at": clock.now() - MINUTE, "id": row.id}
        due = "UPDATE schedules SET next_fire_at = :at, look_at = :at WHERE id = :id"
        await curtsy.execute(due, **at)
        await curtsy.execute("UPDATE jobs SET schedule_id = :id WHERE public_id = :job",
                             id=row.id, job=f"old_{n + 1}")  # fmt: skip


def watching(monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    return explained(monkeypatch, also=("schedules", "firings"))


async def test_what_is_due_next_is_the_first_of_an_index(
    crowded: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    with watching(monkeypatch) as plans:
        due = await crowded.store.write(lambda c: ticker._NEXT(c).one())
    assert due.look_at <= crowded.clock.now()
    assert len(plans.seen) == 1
    assert plans.scanned == set()
    assert plans.buffers <= 6


async def test_what_fires_is_found_with_its_runs_without_a_look_at_others(
    crowded: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that are to be replaced have given way."""
    now = crowded.clock.now()
    await crowded.execute(f"UPDATE jobs SET finished_at = 1 WHERE id <= {DUE}")

    def fire(connection: Connection) -> list[Fired]:
        return firer(crowded.clock).fire_due(connection, now=now).fired

    with watching(monkeypatch) as plans:
        fired = await crowded.store.write(fire)
    assert [one.outcome for one in fired] == ["fired"] * DUE
    assert plans.scanned & {"schedules", "jobs", "firings"} == set()
    of_due, of_busy = plans.of("look_at <= "), plans.of("SELECT DISTINCT s.id")
    assert of_due.buffers <= DUE * 4
    assert of_busy.buffers <= DUE * 10
    assert plans.buffers <= DUE * 150


async def test_runs_in_the_way_are_found_among_those_that_go_on(
    crowded: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = crowded.clock.now()
    with watching(monkeypatch) as plans:
        found = await crowded.store.write(lambda c: runs_to_replace(c, now))
    assert sorted(one.job for one in found) == ["old_10", "old_2", "old_4", "old_6", "old_8"]
    assert plans.scanned == set()
    assert plans.buffers <= DUE * 10


async def test_runs_that_last_too_long_are_found_among_those_that_go_on(
    crowded: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All jobs are runs of a hundred sites, and two of them go on."""
    await crowded.execute(
        "UPDATE jobs SET site_id = id % 100, finished_at = coalesce(finished_at, 1)"
    )
    await crowded.execute(
        "UPDATE jobs SET finished_at = NULL WHERE public_id IN ('old_1', 'old_2')"
    )
    await crowded.execute(MAKE_EVENTS)
    await crowded.store.write(lambda c: run(c, text("ANALYZE")) and None)
    now = crowded.clock.now()
    with watching(monkeypatch) as plans:
        found = await crowded.store.write(
            lambda c: list(run_timeout._SOME(c, began=now, queued=now, site_id=0, id=0, most=100))
        )
        await crowded.store.write(
            lambda c: [of_run.tuples(c, [(run.id,) for run in found])
                       for of_run in (run_timeout._SOURCES, run_timeout._REOPENED)]
        )  # fmt: skip
    assert [run.public_id for run in found] == ["old_1", "old_2"]
    assert plans.scanned <= {"items", "pages", "hosts", "sources"}, "these have no rows here"
    assert plans.buffers <= 20


async def test_the_guard_sees_what_it_is_for(
    crowded: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without its index every schedule is read."""
    await crowded.execute("DROP INDEX schedules_to_look_at")
    with watching(monkeypatch) as plans:
        await crowded.store.write(lambda c: ticker._NEXT(c).one())
    assert plans.scanned == {"schedules"}
