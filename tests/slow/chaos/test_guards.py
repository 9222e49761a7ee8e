"""Each guard, taken out: then the same fault must do the harm that the guard prevents.

A test that passes with and without a guard says nothing about it. Every fault here is chosen to be
the nastiest for its guard, and comes twice: with the guard in place it must do no harm.
"""

import asyncio

import aiohttp
import pytest

from chaos.reckoning import Reckoning, too_soon
from chaos.world import World, said, world
from curtsy.demo.process import PracticeProcess
from support.engine import until
from support.patience import PATIENCE
from support.postgres import free_port
from support.processes import Fleet
from support.proxy import First, Proxy, of_a_flush
from support.sql import run, text

_WORKERS = text("SELECT id FROM workers")
BEAT, TELL = "UPDATE workers SET beat", "SELECT id, owner, epoch FROM sources"
CONTROL = "s.control_version"
ENOUGH = 20
"""Connections: those on which nothing arrives do not keep a flush waiting for one."""
ROUNDS = 30
"""In which a race is lost at least once: which two meet is left to chance."""


async def taken_over(
    made: World, proxy: Proxy, *, without: str | None, **of_the_second: object
) -> None:
    """Nothing that a worker writes arrives, nor does it hear what changed; but it reads its visits
    as ever, and sites answer it. Another takes over all it has. Then what the first had to tell
    arrives after all: soon."""
    fleet = made.fleet
    first = fleet.worker(without=without, database_url=proxy.url, db_pool_size=ENOUGH)
    await said(first, "worker_started")
    await made.submit(made.pages(20, 300, plain=True))
    await made.done(100)
    second = fleet.worker(**of_the_second)
    await said(second, "worker_started")
    proxy.hold(BEAT, TELL, CONTROL)
    await made.reaches("SELECT 2 - count(*) FROM workers", 1, 30)
    [survivor] = await made.store.read(lambda c: list(run(c, _WORKERS).scalars()))
    await made.reaches("SELECT count(DISTINCT source_id) FROM attempts "
                       f"WHERE worker = '{survivor}'", 15, 20)  # fmt: skip
    proxy.let_go(TELL)


async def test_a_worker_that_lost_its_lease_unknowingly_neither_asks_nor_tells(
    fleet: Fleet, practice: PracticeProcess, postgres_url: str
) -> None:
    async with Proxy(postgres_url) as proxy, world(postgres_url, fleet, practice) as made:
        await taken_over(made, proxy, without=None)
        await until(lambda: _dropped(fleet), PATIENCE, lambda: "it had nothing to tell")
        await asyncio.sleep(1.0)  # time for what it must not do
        assert too_soon(made.entries(), fleet.delay, made.departures) == []
        assert told_by_strangers(await made.now_reckoned()) == []


async def _dropped(fleet: Fleet) -> bool:
    return bool(fleet.logged("results_dropped"))


async def test_without_trust_it_asks_too_soon(
    fleet: Fleet, practice: PracticeProcess, postgres_url: str
) -> None:
    async with Proxy(postgres_url) as proxy, world(postgres_url, fleet, practice) as made:
        await taken_over(made, proxy, without="trust")
        await made.hosts_asked_too_soon()


async def test_without_the_epoch_it_tells_of_sources_that_are_anothers(
    fleet: Fleet, practice: PracticeProcess, postgres_url: str
) -> None:
    async with Proxy(postgres_url) as proxy, world(postgres_url, fleet, practice) as made:
        # At the same pace the second would have asked for all that the first has to tell, before a
        # busy machine lets it arrive.
        await taken_over(made, proxy, without="epoch", min_delay_seconds=1.5)
        found: list[str] = []

        async def noticed() -> bool:
            found[:] = told_by_strangers(await made.now_reckoned())
            return bool(found)

        await until(noticed, PATIENCE, made.tails)
        print(found)


def told_by_strangers(reckoning: Reckoning) -> list[str]:
    return [sentence for sentence in reckoning.violations if "does not own" in sentence]


async def join_while_the_last_one_leaves(made: World, port: int, urls: list[str]) -> int:
    """For each page, one job is cancelled while another joins the page; returns for how many pages
    both requests were accepted. On a busy machine the API may return 503 for some."""
    base = f"http://127.0.0.1:{port}/jobs"

    async def post(session: aiohttp.ClientSession, url: str) -> str | None:
        async with session.post(base, json={"url": url}) as answer:
            assert answer.status in (201, 503), await answer.text()
            if answer.status == 503:
                return None
            job: str = (await answer.json())["id"]
            made.jobs.append(job)
            return job

    async def cancel(session: aiohttp.ClientSession, job: str) -> bool:
        async with session.delete(f"{base}/{job}") as answer:
            assert answer.status in (200, 503), await answer.text()
            return answer.status == 200

    async def race(session: aiohttp.ClientSession, mine: list[str]) -> int:
        met = 0
        for url in mine:
            if first := await post(session, url):
                left, joined = await asyncio.gather(cancel(session, first), post(session, url))
                met += left and joined is not None
        return met

    async with aiohttp.ClientSession() as session:
        return sum(await asyncio.gather(*(race(session, urls[n::5]) for n in range(5))))


@pytest.mark.parametrize("without", [None, "page_lock"])
async def test_only_the_lock_on_a_page_keeps_those_who_join_it_from_being_forgotten(
    fleet: Fleet, practice: PracticeProcess, postgres_url: str, without: str | None
) -> None:
    async with world(postgres_url, fleet, practice) as made:
        port = free_port()
        api = fleet.api(port, without=without, db_pool_size=10)
        await said(api, "api_started")
        found: list[str] = []
        met = 0
        for _ in range(1 if without is None else ROUNDS):
            urls = made.pages(20, 5, plain=True)
            met += await join_while_the_last_one_leaves(made, port, urls)
            found = [v for v in (await made.now_reckoned()).violations if "has a visit" in v]
            if found:
                break
        print(f"without {without}: {found} of {met}")
        assert met > 50, "most of the hundred pages must have had both requests"
        assert bool(found) == (without is not None)


async def test_without_turns_a_result_told_twice_counts_twice(
    fleet: Fleet, practice: PracticeProcess, postgres_url: str
) -> None:
    """What a lost answer does with the guard in place is told in test_lost_answers.py. The key of
    the table of attempts is a second line, and is taken out too."""
    async with Proxy(postgres_url) as proxy, world(postgres_url, fleet, practice) as made:
        await made.execute("ALTER TABLE attempts DROP CONSTRAINT attempts_pkey")
        proxy.lose_answers(First(3, of_a_flush))
        fleet.worker(without="turn", database_url=proxy.url)
        await made.submit([made.site.url(h, f"/flaky/1/{made.number()}") for h in range(20)])
        await made.all_ended(30)
        found = (await made.now_reckoned()).violations
        print(found)
        assert [sentence for sentence in found if "recorded twice" in sentence]


async def test_without_begin_immediate_processes_undo_each_others_transactions(
    file_fleet: Fleet, practice: PracticeProcess, sqlite_url: str
) -> None:
    """A transaction that has read then finds at its first write that another wrote since:
    "database is locked" at once, however long it would wait; all its work was in vain."""
    async with world(sqlite_url, file_fleet, practice) as made:
        for _ in range(2):
            file_fleet.worker(without="begin_immediate", min_delay_seconds=0.02)
        for worker in file_fleet.workers:
            await said(worker, "worker_started")
        for _ in range(ROUNDS):
            for _ in range(10):
                await made.submit(made.pages(60, 4, plain=True))
            await made.all_ended(60)
            if conflicts := file_fleet.lock_conflicts():
                break
        print(f"{len(conflicts)} transactions repeated")
        assert conflicts
