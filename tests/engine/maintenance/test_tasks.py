"""Maintenance tasks: which dead letters are retried, and that no task is lost."""

import asyncio
from typing import Any

import pytest

from curtsy.clock import MINUTE
from curtsy.errors import StoreAway
from curtsy.maintenance.tasks import MaintenanceTasks
from curtsy.model.failure_kinds import Kind
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
