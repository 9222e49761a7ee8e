"""Programs of several versions on one database, while jobs flow and processes die."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from chaos.client import Client
from chaos.server import Server
from chaos.world import World, said, world
from curtsy.demo.process import PracticeProcess
from curtsy.store.version import newest
from support.engine import until
from support.postgres import free_port
from support.processes import Fleet, Process
from support.releases import (
    CONTRACT,
    EXPAND,
    NEXT,
    THIS,
    Release,
    next_release,
    previous_release,
)

SOME = 60
"""Results between one step of an upgrade and the next."""
AT_ONCE, HOSTS, MOST_WAITING = 6, 30, 150
TOO_OLD = 6
BUILT = {
    "sqlite": "SELECT count(*) FROM sqlite_master WHERE name = 'attempts_by_worker'",
    "postgresql": "SELECT count(*) FROM pg_index WHERE indisvalid "
    "AND indexrelid = to_regclass('attempts_by_worker')",
}
"""The large index of the next release."""
ATTEMPTS = "SELECT count(*) FROM attempts"


@pytest.fixture(params=["sqlite", "postgresql"])
def no_tables(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A database without tables."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'curtsy.db'}"
        return
    server: Server = request.getfixturevalue("postgres")
    url = server.create_database("template0")
    yield url
    server.drop_database(url)


@pytest.fixture
def rolling(no_tables: str, folder: Path) -> Iterator[Fleet]:
    """Who is killed is missed sooner than who waits for a processor."""
    with Fleet(folder, no_tables, lease_seconds=3) as made:
        yield made


async def upgraded(release: Release, url: str) -> None:
    told = await release.run("db", "upgrade", url=url)
    assert told.code == 0, told


async def started(made: World, release: Release) -> Process:
    """A worker of that release."""
    made.fleet.source = release.source
    worker = made.fleet.worker()
    await said(worker, "worker_started")
    return worker


@asynccontextmanager
async def stream(made: World, release: Release) -> AsyncIterator[None]:
    """Jobs come in through an API of that release, as fast as they are fetched, until the end."""
    made.fleet.source = release.source
    port = free_port()
    api = made.fleet.api(port)
    await said(api, "api_started")
    over = asyncio.Event()

    async def ask(client: Client) -> None:
        while not over.is_set():
            if await made.count("SELECT count(*) FROM visits") > MOST_WAITING:
                await asyncio.sleep(0.1)
                continue
            for url in made.pages(HOSTS, 1):
                made.jobs.append(await client.submitted(url))

    async with Client(port) as client, asyncio.TaskGroup() as group:
        for _ in range(AT_ONCE):
            group.create_task(ask(client))
        try:
            yield
        finally:
            over.set()


async def more(made: World, *, since: int | None = None) -> None:
    """Work goes on; since now, or since there were so many results."""
    before = await made.count(ATTEMPTS) if since is None else since
    await made.reaches(ATTEMPTS, before + SOME, 60)


async def records(made: World, worker: Process) -> None:
    """That worker does some of the work from now on."""
    own = f"worker IN (SELECT id FROM workers WHERE pid = {worker.pid})"
    sql = f"{ATTEMPTS} WHERE {own}"
    await made.reaches(sql, await made.count(sql) + SOME // 5, 60)


async def test_a_worker_of_the_release_before_goes_on_across_the_upgrade(
    rolling: Fleet, practice: PracticeProcess, no_tables: str, tmp_path: Path
) -> None:
    """And so does its API. Each release takes over the sources of the other's dead workers."""
    before = previous_release(tmp_path / "before")
    await upgraded(before, no_tables)
    async with world(no_tables, rolling, practice) as made:
        old = await started(made, before)
        async with stream(made, before):
            await more(made)
            await upgraded(THIS, no_tables)
            await records(made, old)
            new = await started(made, THIS)
            await records(made, new)
            await records(made, old)
            new.kill()
            await more(made)
            await records(made, await started(made, THIS))
            old.kill()
            await more(made)
        reckoning = await made.reckoning(60)
        print(f"{reckoning}; {len(made.jobs)} jobs")
        assert reckoning.violations == []
        assert rolling.crashes() == []


@pytest.mark.parametrize("no_tables", ["postgresql"], indirect=True)
async def test_this_program_starts_and_works_on_a_schema_of_the_next_release(
    rolling: Fleet, practice: PracticeProcess, no_tables: str, tmp_path: Path
) -> None:
    after = next_release(tmp_path / "after", EXPAND)
    await upgraded(THIS, no_tables)
    async with world(no_tables, rolling, practice) as made:
        first = await started(made, THIS)
        async with stream(made, THIS):
            await more(made)
            await upgraded(after, no_tables)
            assert await made.count(BUILT[no_tables.partition(":")[0]]) == 1
            await records(made, first)
            second = await started(made, THIS)
            await records(made, second)
            new = await started(made, after)
            await records(made, new)
            first.kill()
            new.kill()
            await records(made, second)
        told = await THIS.run("db", "check", url=no_tables)
        works = f"Schema {NEXT}: newer than this program's {newest()}, and works with it.\n"
        assert (told.code, told.out) == (0, works)
        again = await THIS.run("db", "upgrade", url=no_tables)
        assert (again.code, "nothing to do" in again.out) == (0, True), again
        reckoning = await made.reckoning(60)
        print(f"{reckoning}; {len(made.jobs)} jobs")
        assert reckoning.violations == []
        assert rolling.crashes() == []


@pytest.mark.parametrize("no_tables", ["sqlite"], indirect=True)
async def test_an_upgrade_that_ends_the_support_of_this_program_waits_for_its_processes(
    rolling: Fleet, practice: PracticeProcess, no_tables: str, tmp_path: Path
) -> None:
    """They finish their open work and end, none of them starts again, and nothing is lost."""
    after = next_release(tmp_path / "after", CONTRACT)
    await upgraded(THIS, no_tables)
    async with world(no_tables, rolling, practice) as made:
        workers = [await started(made, THIS) for _ in range(2)]
        scheduler, api = rolling.scheduler(), rolling.api(free_port())
        await said(scheduler, "scheduler_started")
        await said(api, "api_started")
        await made.submit(made.pages(HOSTS, 10))
        refused = await after.run("db", "upgrade", url=no_tables)
        assert refused.code == 1, refused
        assert f"Schema {NEXT} works only with programs of schema {NEXT} or newer" in refused.err
        assert all(f"{p.pid} on" in refused.err for p in (*workers, scheduler)), refused.err
        await made.submit(made.pages(HOSTS, 40))  # which they still work on
        await more(made, since=HOSTS * 10)
        forced = await after.run("db", "upgrade", "--force", url=no_tables)
        assert (forced.code, "upgraded_in_use" in forced.err) == (0, False), forced
        rolling.source = THIS.source
        late = rolling.worker()
        ended = [*workers, scheduler, api, late]

        async def all_ended() -> bool:
            return all(process.status is not None for process in ended)

        await until(all_ended, 60, made.tails)
        assert [process.status for process in ended] == [TOO_OLD] * len(ended), made.tails()
        assert f"schema {NEXT}" in late.tail()
        assert f"has schema {newest()}" in late.tail()
        await made.submit(made.pages(HOSTS, 2))
        await started(made, after)
        reckoning = await made.reckoning(60)
        print(f"{reckoning}; {len(made.jobs)} jobs")
        assert reckoning.violations == []
        assert rolling.crashes() == []
