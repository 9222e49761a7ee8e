"""Each guard, taken out: then the same fault must do the harm that the guard prevents.

A test that passes with and without a guard says nothing about it. Every fault here is chosen to be
the nastiest for its guard, and comes twice: with the guard in place it must do no harm.
"""

import asyncio

import aiohttp
import pytest

from chaos.reckoning import Reckoning, too_soon
from chaos.world import World, world
from curtsy.demo.process import PracticeProcess
from support.engine import until
from support.postgres import free_port
from support.processes import Fleet, Process
from support.proxy import Proxy


async def taken_over(made: World, *, without: str | None) -> None:
    """A worker stands still for longer than its lease while it holds every source and waits for
    answers; another takes them over; then the first goes on as if nothing had been."""
    fleet = made.fleet
    first = fleet.worker(without=without)
    await said(first, "worker_started")
    await made.submit(
        [made.site.url(host, f"/slow/60/{n}") for n in range(400) for host in range(20)]
    )
    await made.done(100)
    second = fleet.worker(without=without)
    await said(second, "worker_started")
    first.pause()
    await said(second, "worker_died")
    await made.reaches("SELECT count(DISTINCT source_id) FROM attempts WHERE worker IN "
                       "(SELECT id FROM workers)", 15, 20)  # fmt: skip
    first.resume()
    await said(first, "declared_dead")
    await asyncio.sleep(0.2)


async def said(process: Process, event: str) -> None:
    async def fact() -> bool:
        return bool(process.said(event))

    await until(fact, 30, process.tail)


async def test_a_worker_that_slept_through_its_lease_neither_asks_nor_tells(
    fleet: Fleet, practice: PracticeProcess, postgres_url: str
) -> None:
    async with world(postgres_url, fleet, practice) as made:
        await taken_over(made, without=None)
        assert too_soon(made.entries(), fleet.delay) == []
        assert told_by_strangers(await made.now_reckoned()) == []
        assert fleet.said("results_dropped"), "it had something to tell"


async def test_without_trust_it_asks_too_soon(
    fleet: Fleet, practice: PracticeProcess, postgres_url: str
) -> None:
    async with world(postgres_url, fleet, practice) as made:
        await taken_over(made, without="trust")
        found = too_soon(made.entries(), fleet.delay)
        print(f"{len(found)} hosts asked too soon, as {found[:1]}")
        assert found


async def test_without_the_epoch_it_tells_of_sources_that_are_anothers(
    fleet: Fleet, practice: PracticeProcess, postgres_url: str
) -> None:
    async with world(postgres_url, fleet, practice) as made:
        await taken_over(made, without="epoch")
        found = told_by_strangers(await made.now_reckoned())
        print(found)
        assert found


def told_by_strangers(reckoning: Reckoning) -> list[str]:
    return [sentence for sentence in reckoning.violations if "does not own" in sentence]


async def join_while_the_last_one_leaves(made: World, port: int, urls: list[str]) -> None:
    """Of each page: a job wants it and is cancelled, in the moment in which another joins."""
    base = f"http://127.0.0.1:{port}/jobs"

    async def post(session: aiohttp.ClientSession, url: str) -> str:
        async with session.post(base, json={"url": url}) as answer:
            assert answer.status == 201, await answer.text()
            job: str = (await answer.json())["id"]
            made.jobs.append(job)
            return job

    async def cancel(session: aiohttp.ClientSession, job: str) -> None:
        async with session.delete(f"{base}/{job}") as answer:
            assert answer.status == 200, await answer.text()

    async def race(session: aiohttp.ClientSession, mine: list[str]) -> None:
        for url in mine:
            first = await post(session, url)
            await asyncio.gather(cancel(session, first), post(session, url))

    async with aiohttp.ClientSession() as session:
        await asyncio.gather(*(race(session, urls[n::5]) for n in range(5)))


@pytest.mark.parametrize("without", [None, "page_lock"])
async def test_only_the_lock_on_a_page_keeps_those_who_join_it_from_being_forgotten(
    fleet: Fleet, practice: PracticeProcess, postgres_url: str, without: str | None
) -> None:
    async with world(postgres_url, fleet, practice) as made:
        port = free_port()
        api = fleet.api(port, without=without, db_pool_size=10)
        await said(api, "api_started")
        found: list[str] = []
        for _ in range(1 if without is None else 8):
            await join_while_the_last_one_leaves(made, port, made.pages(20, 5, plain=True))
            found = [v for v in (await made.now_reckoned()).violations if "has a visit" in v]
            if found:
                break
        print(f"without {without}: {found}")
        assert bool(found) == (without is not None)


def of_a_flush(statements: list[str]) -> bool:
    return any("INSERT INTO attempts" in statement for statement in statements)


async def told_twice(made: World, proxy: Proxy, *, without: str | None) -> Reckoning:
    """The answers to flushes are lost, of pages that are asked for again later."""
    proxy.lose_answers(of_a_flush)
    made.fleet.worker(without=without, database_url=proxy.url)
    await made.submit([made.site.url(h, f"/flaky/1/{made.number()}") for h in range(20)])
    await made.reaches("SELECT count(*) FROM visits WHERE turn > 1", 10, 30)
    await until(lambda: _lost(proxy, 2), 20, made.tails)
    proxy.lose_answers(lambda _statements: False)
    await made.all_ended(30)
    return await made.now_reckoned()


async def _lost(proxy: Proxy, number: int) -> bool:
    return proxy.lost_answers >= number


@pytest.mark.parametrize("without", [None, "turn"])
async def test_only_its_turn_keeps_a_result_told_twice_from_counting_twice(
    fleet: Fleet, practice: PracticeProcess, postgres_url: str, without: str | None
) -> None:
    async with Proxy(postgres_url) as proxy, world(postgres_url, fleet, practice) as made:
        await made.tell("ALTER TABLE attempts DROP CONSTRAINT attempts_pkey")
        reckoning = await told_twice(made, proxy, without=without)
        print(f"without {without}: {reckoning.violations}")
        assert bool(reckoning.violations) == (without is not None)


@pytest.mark.parametrize("without", [None, "begin_immediate"])
async def test_only_begin_immediate_keeps_two_processes_from_undoing_each_others_transactions(
    file_fleet: Fleet, practice: PracticeProcess, sqlite_url: str, without: str | None
) -> None:
    """Without it a transaction that has read finds at its first write that another wrote since:
    "database is locked" at once, however long it would wait; all its work was in vain."""
    async with world(sqlite_url, file_fleet, practice) as made:
        for _ in range(2):
            file_fleet.worker(without=without, min_delay_seconds=0.02)
        for worker in file_fleet.workers:
            await said(worker, "worker_started")
        for _ in range(10):
            await made.submit(made.pages(60, 4, plain=True))
        await made.all_ended(60)
        repeated = [line for line in file_fleet.said("transaction_repeated")
                    if "database is locked" in line["reason"]]  # fmt: skip
        print(f"without {without}: {len(repeated)} transactions undone")
        assert bool(repeated) == (without is not None)
