"""Maintenance tasks: which dead letters are retried, and that no task is lost."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from curtsy.api.schemas.dead_letters import group_of
from curtsy.clock import MINUTE
from curtsy.errors import StoreAway
from curtsy.jobs.dead_letters import groups
from curtsy.maintenance.tasks import MaintenanceTasks
from curtsy.model.failure_kinds import Kind
from curtsy.model.outcome import Failed
from curtsy.schedules.task_queue import TaskQueue
from curtsy.store import Store
from curtsy.timetable import Cron
from support.engine import Engine
from support.frontier import Bench, failed
from support.schedules import Hand, made, ticker
from support.sites import Board


async def dead_letters(bench: Bench) -> str:
    duties = MaintenanceTasks(store=bench.store, clock=bench.clock, keep_days=30)
    return await duties.by_name()["dead_letters"]()


async def a_run_with_a_failure(board: Board) -> str:
    """For a passing reason, after every try."""
    run = await board.run(results_wanted=2)
    [visit] = await board.worker.lease_and_take()
    await board.worker.flush(failed(visit, Kind.TIMEOUT))
    assert (await board.told(run)).state == "failed"
    return run


async def test_failures_of_a_sites_last_run_are_retried(board: Board, bench: Bench) -> None:
    run = await a_run_with_a_failure(board)
    assert await dead_letters(bench) == "1 failed page is retried."
    assert (await board.told(run)).finished_at is None


@pytest.mark.parametrize("ended", [False, True], ids=["goes on", "has ended"])
async def test_only_the_newest_run_of_a_site_is_retried(
    board: Board, bench: Bench, ended: bool
) -> None:
    run = await a_run_with_a_failure(board)
    bench.time.moves(MINUTE)
    await board.run(search_term="other", results_wanted=2)
    if ended:
        await board.fetch("ab")
    assert await dead_letters(bench) == "0 failed pages are retried."
    assert (await board.told(run)).state == "failed"
    [letter] = await bench.rows("SELECT state FROM dead_letters")
    assert letter.state == "open", "somebody may still ask for it"


async def test_a_name_that_does_not_exist_is_not_retried_by_itself(bench: Bench) -> None:
    job = await bench.job("http://nosuch.example/", "http://slow.example/")
    worker = await bench.worker()
    nowhere, slow = await worker.lease_and_take()
    no_host = Failed(Kind.DNS, "There is no host named nosuch.example.", final=True)
    passing = Failed(Kind.DNS, "slow.example cannot be looked up.")
    await worker.flush(replace(failed(nowhere), outcome=no_host))
    await worker.flush(replace(failed(slow), outcome=passing))
    found = await bench.store.read(lambda c: groups(c, kind=None, source=None))
    assert [(group.kind, group.count.number, group.final) for group in found] == [("dns", 2, 1)]
    assert group_of(found[0]).retried, "one of them is"
    assert await dead_letters(bench) == "1 failed page is retried."
    [left] = await bench.rows("SELECT error FROM dead_letters WHERE state = 'open'")
    assert left.error == no_host.error
    [group] = await bench.store.read(lambda c: groups(c, kind=None, source=None))
    assert not group_of(group).retried
    assert await bench.retry(job) == 1, "somebody may still ask for it"


async def test_letters_that_no_job_wants_any_more_are_resolved_with_a_word(bench: Bench) -> None:
    job = await bench.job("http://site.com/1", "http://site.com/2")
    worker = await bench.worker()
    [first, _second] = await worker.lease_and_take()
    await worker.flush(failed(first, Kind.TIMEOUT))
    await bench.cancel(job)
    said = await dead_letters(bench)
    assert said == ("0 failed pages are retried; 1 dead letter is resolved, since no job wants "
                    "the page any more.")  # fmt: skip
    [letter] = await bench.rows("SELECT state FROM dead_letters")
    assert letter.state == "resolved"
    assert await dead_letters(bench) == "0 failed pages are retried."


async def test_a_run_that_starts_at_the_same_time_is_not_overlooked(
    board: Board, bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the look for letters and their retry."""
    run = await a_run_with_a_failure(board)
    bench.time.moves(MINUTE)
    look = bench.store.read
    begun = False

    async def read(work: Any) -> Any:
        nonlocal begun
        found = await look(work)
        if not begun:
            begun = True
            await board.run(search_term="other")
        return found

    monkeypatch.setattr(bench.store, "read", read)
    assert await dead_letters(bench) == "0 failed pages are retried."
    monkeypatch.undo()
    assert (await board.told(run)).state == "failed"


async def test_a_task_stays_due_until_it_is_done_also_while_the_store_is_away(
    store: Store, hand: Hand, ask: Engine
) -> None:
    tried = 0

    async def at_last() -> str:
        nonlocal tried
        tried += 1
        if tried == 1:
            raise StoreAway("it does not answer")
        return "Done at last."

    scheduler = ticker(store, hand.clock)
    scheduler.tasks = owed = TaskQueue(store=store, tasks={"cleanup": at_last})
    for name in ("one", "other"):
        await made(store, hand.clock, Cron("* * * * *"), name=name, payload={"duty": "cleanup"})
    hand.forward(MINUTE)
    assert len(await scheduler.tick()) == 2
    with pytest.raises(StoreAway):
        await owed.step()
    assert not owed.is_settled
    await asyncio.gather(owed.step(), owed.step())
    assert owed.is_settled
    rows = await ask.query("SELECT outcome, message FROM firings")
    assert [tuple(row) for row in rows] == [("fired", "Done at last.")] * 2
    assert tried == 2, "once for both, and not by two at a time"
