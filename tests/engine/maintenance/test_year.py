"""A year of the maintenance timetable beside daily work, on a clock that the test moves: every slot
has its outcome, and the store stays as small as after the first weeks."""

import os
from collections.abc import Mapping

from curtsy.clock import DAY, HOUR, MINUTE
from curtsy.history.steps import HistorySteps
from curtsy.maintenance.tasks import MaintenanceTasks
from curtsy.maintenance.timetable import create_timetable
from curtsy.schedules.task_queue import TaskQueue
from curtsy.schedules.ticker import Ticker
from curtsy.store import Store
from curtsy.store.schema import metadata
from curtsy.store.space import read_space
from support.frontier import START, Bench, ScriptedWorker, failed, fetched
from support.schedules import firer

KEEP_DAYS = 7
EVERY_SLOT_DAYS = int(os.environ.get("EVERY_SLOT_DAYS", "13"))
"""`EVERY_SLOT_DAYS=365 pytest …` lives through every slot of a year."""
NEWS = "http://news.example/"
COUNTED = "history"
"""The only table that grows for more than a year, by a few rows a day: what happened is counted."""
ROWS_A_DAY, BYTES_OF_A_ROW = 5, 700


async def a_day_of_work(bench: Bench, worker: ScriptedWorker, day: int) -> None:
    """A page that changes daily, a host that is never seen again, and a page that is gone."""
    for urls in ((NEWS,), (f"http://h{day}.example/", f"http://h{day}.example/gone")):
        await bench.job(*urls)
    for visit in await worker.lease_and_take():
        if visit.url.endswith("gone"):
            await worker.flush(failed(visit, at=bench.time()))
        else:
            await worker.flush(fetched(visit, f"day {day}", at=bench.time()))
    for source in list(worker.leases):
        await worker.release(source)
    worker.leases.clear()
    await bench.execute("UPDATE sources SET ready_at = NULL WHERE ready_at IS NOT NULL")


async def rows(bench: Bench) -> dict[str, int]:
    found = {}
    for table in metadata.tables.keys() - {COUNTED}:
        found[table] = (await bench.row(f"SELECT count(*) AS n FROM {table}")).n
    return found


async def live(bench: Bench, scheduler: Ticker, days: int, *, first: int, step: int) -> None:
    """Curtsy is up for a moment at each step. Once a day, as on a laptop: each schedule catches up
    its latest slot, and the others are missed."""
    worker = await bench.worker(f"w{first}")
    for day in range(first, first + days):
        for _ in range(DAY // step - 1):
            bench.time.moves(step)
            await run_what_is_due(bench, scheduler)
        bench.time.moves(step)
        await a_day_of_work(bench, worker, day)
        await worker.leave()
        await run_what_is_due(bench, scheduler)
        worker = await bench.worker(f"w{first}_{day}")
    await worker.leave()


async def run_what_is_due(bench: Bench, scheduler: Ticker) -> None:
    await scheduler.tick()
    await scheduler.tasks.step()
    await HistorySteps(store=bench.store, clock=bench.clock).roll_up()


def grown(early: Mapping[str, int], late: Mapping[str, int]) -> dict[str, tuple[int, int]]:
    """Tables with more rows than before, but for the few that a day more or less makes."""
    return {
        table: (early[table], late[table])
        for table in early
        if late[table] > early[table] * 1.1 + 5
    }


async def test_a_year_leaves_the_store_as_small_as_its_first_weeks(sqlite_url: str) -> None:
    fired = await lived(sqlite_url, days=365)
    assert all(KEEP_DAYS - 1 <= number <= KEEP_DAYS + 1 for number in fired.values())


async def test_so_it_is_on_a_server_for_some_weeks(postgres_url: str) -> None:
    await lived(postgres_url, days=20)


async def test_so_it_is_with_every_slot(sqlite_url: str) -> None:
    fired = await lived(sqlite_url, days=EVERY_SLOT_DAYS, first=9, step=10 * MINUTE)
    a_day = {"health": 48, "dead_letters": 24, "reports": 4, "cleanup": 1}
    wrong = {
        name: fired[f"maintenance:{name}"] for name, slots in a_day.items()
        if not KEEP_DAYS * slots - 1 <= fired[f"maintenance:{name}"] <= (KEEP_DAYS + 1) * slots + 1
    }  # fmt: skip
    assert wrong == {}


async def lived(url: str, *, days: int, first: int = 12, step: int = DAY) -> dict[str, int]:
    """Compares the store after the first days with that after all of them. Returns how many slots
    of each schedule fired within the days that are kept."""
    async with Store(url) as store:
        bench = Bench(store)
        bench.time.moves(12 * HOUR - START % DAY)
        duties = MaintenanceTasks(store=store, clock=bench.clock, keep_days=KEEP_DAYS)
        tasks = TaskQueue(store=store, tasks=duties.by_name())
        bench.clock.version = await bench_version(bench)
        scheduler = Ticker(store=store, clock=bench.clock, firer=firer(bench.clock), tasks=tasks,
                           on_work=lambda: None)  # fmt: skip
        await store.write(lambda c: create_timetable(c, tasks.names, now=bench.time()))
        await live(bench, scheduler, first, first=0, step=step)
        early, space = await rows(bench), await read_space(store)
        await live(bench, scheduler, days - first, first=first, step=step)
        late, after = await rows(bench), await read_space(store)
        assert grown(early, late) == {}
        counted = (await bench.row(f"SELECT count(*) AS n FROM {COUNTED}")).n
        assert counted <= ROWS_A_DAY * days
        assert late["jobs"] >= 2 * (KEEP_DAYS - 1), "it deletes no more than it should"
        assert late["documents"] >= KEEP_DAYS
        assert await bench.violations() == []
        fired = await bench.rows(
            "SELECT count(*) AS n, s.name FROM firings f JOIN schedules s ON s.id = f.schedule_id "
            "WHERE f.outcome = 'fired' GROUP BY s.name"
        )
        assert {row.name for row in fired} == {f"maintenance:{name}" for name in tasks.names}
        if store.is_sqlite:
            assert space.database_bytes is not None
            most = space.database_bytes * 1.2 + counted * BYTES_OF_A_ROW
            assert after.database_bytes <= most  # type: ignore[operator]
        return {row.name: row.n for row in fired}


async def bench_version(bench: Bench) -> int:
    return int((await bench.row("SELECT version FROM clock")).version)
