"""Commits whose answer is lost, and a database that can be reached but does not answer."""

import pytest

from chaos.world import world
from curtsy.clock import Clock
from curtsy.demo.process import PracticeProcess
from curtsy.jobs import JobRequest, PageRequest, SubmitLimits, Submitter
from curtsy.store import Store
from support.engine import LOOPBACK
from support.processes import Fleet
from support.proxy import Every, First, Proxy, of_a_flush
from support.sql import run, text


def of_a_name(statements: list[str]) -> bool:
    return any("SET suspect_page_id = $" in statement for statement in statements)


async def test_a_flush_whose_answer_is_lost_is_told_again_and_counts_once(
    patient_fleet: Fleet, practice: PracticeProcess, postgres_url: str
) -> None:
    fleet = patient_fleet
    async with Proxy(postgres_url) as proxy, world(postgres_url, fleet, practice) as made:
        proxy.lose_answers(Every(2, of_a_flush))
        fleet.worker(database_url=proxy.url)
        while len(made.jobs) < 2 or (proxy.lost_answers < 3 and len(made.jobs) < 10):
            await made.submit(made.pages(20, 6))
            await made.all_ended(60)  # one flush may tell of many pages
        reckoning = await made.reckoning(60)
        print(f"{reckoning}; {proxy.lost_answers} answers lost")
        assert reckoning.violations == []
        assert reckoning.in_vain == {}, "nobody died: nothing is asked for twice"
        assert proxy.lost_answers >= 3
        assert fleet.crashes() == []
        assert len(fleet.logged("flush_waits_for_store")) >= 3


async def test_a_source_under_suspicion_is_not_lost_with_the_answer_of_a_commit(
    fleet: Fleet, practice: PracticeProcess, postgres_url: str
) -> None:
    async with Proxy(postgres_url) as proxy, world(postgres_url, fleet, practice) as made:
        await made.submit(made.pages(1, 5, plain=True))
        await made.execute("UPDATE sources SET crash_streak = 2")
        proxy.lose_answers(Every(2, of_a_name))
        fleet.worker(database_url=proxy.url)
        reckoning = await made.reckoning(30)
        assert reckoning.violations == []
        assert proxy.lost_answers >= 1
        assert fleet.crashes() == []


def of_a_submit(statements: list[str]) -> bool:
    return any("INSERT INTO jobs" in statement for statement in statements)


@pytest.mark.parametrize("key", [None, "k"])
async def test_a_submit_whose_answer_is_lost_makes_one_job(
    fleet: Fleet, practice: PracticeProcess, postgres_url: str, key: str | None
) -> None:
    async with Proxy(postgres_url) as proxy, Store(proxy.url) as store:
        submitter = Submitter(store=store, clock=Clock(), limits=SubmitLimits(allow=LOOPBACK),
                              delay_ms=100)  # fmt: skip
        proxy.lose_answers(Every(2, of_a_submit))
        for number in range(1, 11):
            page = PageRequest(practice.url(0, f"/page/{number}"))
            asked = JobRequest(door="fetch", pages=[page], idempotency_key=key and f"{key}{number}")
            told = await submitter.submit(asked)
            jobs = await store.read(lambda c: list(run(c, text("SELECT public_id FROM jobs"))))
            assert len(jobs) == number
            assert told.job in {job.public_id for job in jobs}
        assert proxy.lost_answers >= 3


def of_a_beginning(statements: list[str]) -> bool:
    return any("INSERT INTO workers" in statement for statement in statements)


async def test_a_worker_whose_registration_got_no_answer_begins_all_the_same(
    fleet: Fleet, practice: PracticeProcess, postgres_url: str
) -> None:
    async with Proxy(postgres_url) as proxy, world(postgres_url, fleet, practice) as made:
        proxy.lose_answers(First(1, of_a_beginning))
        fleet.worker(database_url=proxy.url)
        await made.submit(made.pages(5, 2, plain=True))
        reckoning = await made.reckoning(30)
        assert reckoning.violations == []
        assert proxy.lost_answers == 1
        assert fleet.crashes() == []
