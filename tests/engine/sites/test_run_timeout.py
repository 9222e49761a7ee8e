"""Runs of sites that last too long."""

import asyncio
from dataclasses import replace
from typing import Any

import orjson
import pytest

from curtsy.clock import DAY, HOUR, MINUTE, SECOND
from curtsy.errors import WrongState
from curtsy.history.steps import HistorySteps
from curtsy.politeness.policy import Policy
from curtsy.processes.scheduler import SchedulerLoops
from curtsy.sites import run_timeout as module
from curtsy.sites.run_timeout import RunTimeouts
from curtsy.sites.runs import run_request
from curtsy.sites.site import find_site
from support.engine import until
from support.frontier import Bench
from support.history import append, fact
from support.schedules import ticker, unwatched
from support.sites import Board

LIMIT = 900 * SECOND
PAUSES = 60 * SECOND
"""More than the pauses of a few pages."""


def overdue(bench: Bench) -> RunTimeouts:
    return RunTimeouts(store=bench.store, clock=bench.clock, policy=Policy(), run_timeout=LIMIT)


async def pause(bench: Bench) -> int:
    """What the policy demands between two pages."""
    [source] = await bench.rows("SELECT delay_ms FROM sources")
    assert source.delay_ms > 1
    return int(source.delay_ms)


async def test_a_run_that_lasts_too_long_is_ended_and_keeps_what_it_has(
    bench: Bench, board: Board
) -> None:
    run = await board.run()
    await board.fetch("ab")
    bench.time.moves(LIMIT + await pause(bench) - 1)
    await overdue(bench).step()
    with pytest.raises(WrongState, match=run):
        await board.run()
    bench.time.moves(1)
    await overdue(bench).step()
    await board.gather()
    told = await board.told(run)
    assert (told.state, told.done, told.cancelled) == ("cancelled", 1, 3)
    assert told.message == (
        "The run was cancelled after 900 seconds beside the pauses between its pages, the longest "
        "that a run may take; its fetched pages are kept. Raise RUN_TIMEOUT or request fewer "
        "results. "
        "2 records: 2 new, 0 changed, 0 same, 0 removed."
    )
    assert await board.seen(run) == {"a": "new", "b": "new"}
    assert await bench.rows("SELECT * FROM visits") == []
    assert await bench.violations() == []
    assert await board.run() != run, "the site is free"


async def test_each_page_that_has_ended_adds_its_pause(bench: Bench, board: Board) -> None:
    run = await board.run()
    await board.fetch("ab")
    await bench.execute("UPDATE sources SET delay_ms = :pause", pause=LIMIT)
    bench.time.moves(2 * LIMIT - 1)
    await overdue(bench).step()
    assert (await bench.counts(run)).state == "running"
    await board.fetch("cd")
    await bench.execute("UPDATE sources SET delay_ms = :pause", pause=LIMIT)  # the flush stored its
    bench.time.moves(LIMIT)
    await overdue(bench).step()
    assert (await bench.counts(run)).state == "running"
    bench.time.moves(1)
    await overdue(bench).step()
    assert (await bench.counts(run)).state == "cancelled"


@pytest.mark.parametrize(("policy", "each", "once"), [
    ({"requests_per_hour": 60, "burst_limit": 10}, MINUTE, 0),
    ({"hours": {"start": 0, "end": 1, "slowdown": 2_000.0}}, 2_000 * SECOND, 0),
    ({"hours": {"start": 5, "end": 65, "closed": True}}, SECOND, HOUR),
])  # fmt: skip
async def test_what_the_policy_demands_does_not_count(
    bench: Bench, board: Board, policy: dict[str, Any], each: int, once: int
) -> None:
    """Hourly limits, hours in which it goes slowly, and closed hours."""
    bench.time.moves(DAY - bench.time.at % DAY)
    run = await board.run()
    await board.fetch("ab")
    await bench.execute("UPDATE sources SET delay_ms = 1000, policy = :policy",
                        policy=orjson.dumps(policy).decode())  # fmt: skip
    ended = (await bench.counts(run)).done
    bench.time.moves(LIMIT + ended * each + once - 1)
    await overdue(bench).step()
    assert (await bench.counts(run)).state == "running"
    bench.time.moves(1)
    await overdue(bench).step()
    assert (await bench.counts(run)).state == "cancelled"


async def test_the_turns_of_other_jobs_do_not_count(bench: Bench, board: Board) -> None:
    """Each request to the source adds its pause, once the history has counted it."""
    bench.time.moves(HOUR - bench.time.at % HOUR)
    run = await board.run()
    await board.fetch("ab")
    await bench.execute("UPDATE sources SET delay_ms = :pause", pause=LIMIT)
    [source] = await bench.rows("SELECT id FROM sources")
    await HistorySteps(store=bench.store, clock=bench.clock).fold_all()
    others = [fact(bench.time.at, source_id=source.id) for _ in range(3)]
    await append(bench.store, others)
    await HistorySteps(store=bench.store, clock=bench.clock).fold_all()
    bench.time.moves(5 * LIMIT - 1)
    await overdue(bench).step()
    assert (await bench.counts(run)).state == "running"
    bench.time.moves(1)
    await overdue(bench).step()
    assert (await bench.counts(run)).state == "cancelled"


async def test_pages_from_before_a_resume_give_no_time(bench: Bench, board: Board) -> None:
    run = await board.run()
    await board.fetch("ab", "cd", "ef")
    await bench.execute("UPDATE sources SET delay_ms = :pause", pause=LIMIT)
    await bench.pause(run)
    await bench.resume(run)
    bench.time.moves(2 * LIMIT - 1)
    await overdue(bench).step()
    assert (await bench.counts(run)).state == "running"
    bench.time.moves(1)
    await overdue(bench).step()
    assert (await bench.counts(run)).state == "cancelled", "one page was left, three had ended"


async def test_runs_that_had_to_wait_do_not_keep_others_from_being_ended(
    bench: Bench, board: Board, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BATCH", 1)
    first = await board.run()
    await board.fetch("ab")
    await bench.execute("UPDATE sources SET delay_ms = :pause", pause=DAY)
    other = await Board.declared(bench, name="shelf")
    second = await other.run()
    await other.fetch("ab")
    bench.time.moves(LIMIT + PAUSES)
    await overdue(bench).step()
    states = [(await bench.counts(run)).state for run in (first, second)]
    assert states == ["running", "cancelled"]


async def test_pages_that_other_jobs_wait_for_stay(bench: Bench, board: Board) -> None:
    run = await board.run()
    await board.fetch("ab")
    site = await bench.store.read(lambda c: find_site(c, "board"))
    same = replace(run_request(site, {}), origin=None)
    other = (await bench.submitter.submit(same)).job
    bench.time.moves(LIMIT + PAUSES)
    await overdue(bench).step()
    assert (await bench.counts(run)).cancelled == 3
    assert (await bench.counts(other)).cancelled == 0
    assert len(await bench.rows("SELECT * FROM visits")) == 4
    assert await bench.violations() == []


async def test_waiting_for_its_turn_is_not_lasting_but_has_an_end_too(
    bench: Bench, board: Board
) -> None:
    run = await board.run()
    bench.time.moves(DAY - 1)
    await overdue(bench).step()
    assert (await bench.counts(run)).state == "queued"
    bench.time.moves(1)
    await overdue(bench).step()
    await board.gather()
    told = await board.told(run)
    assert told.state == "cancelled"
    assert "could not start within 24 hours" in told.message


async def test_one_that_began_and_then_rests_is_ended(bench: Bench, board: Board) -> None:
    """Its source may rest for hours: the site is not held by that."""
    run = await board.run()
    await board.fetch("ab")
    await bench.execute("UPDATE visits SET due_at = :at", at=bench.time() + DAY)
    bench.time.moves(LIMIT + PAUSES)
    await overdue(bench).step()
    assert (await bench.counts(run)).state == "cancelled"


async def test_after_a_retry_or_a_pause_it_has_the_whole_time_again(
    bench: Bench, board: Board
) -> None:
    run = await board.run()
    await board.fetch("ab", "cd", "")
    await board.fail()
    assert (await bench.counts(run)).state == "partial"
    bench.time.moves(DAY)
    await bench.retry(run)
    await overdue(bench).step()
    assert (await bench.counts(run)).state == "queued"
    await bench.pause(run)
    bench.time.moves(2 * DAY)
    await overdue(bench).step()
    assert (await bench.counts(run)).state == "queued", "somebody holds it"
    await bench.resume(run)
    await overdue(bench).step()
    assert (await bench.counts(run)).state == "queued"
    await board.fetch("e")
    assert (await bench.counts(run)).state == "succeeded"


async def test_one_whose_links_are_not_followed_any_more_calls_nothing_removed(
    bench: Bench,
) -> None:
    board = await Board.declared(bench, follows=True)
    links = ("https://board.example/?q=cook&page=2",)
    whole = await board.run()
    await board.fetch("ab", links=links)
    await bench.follow_links()
    await board.fetch("cd")
    await board.gather()
    assert (await board.told(whole)).state == "succeeded"
    run = await board.run()
    await board.fetch("ab", links=links)
    bench.time.moves(LIMIT + PAUSES)
    await overdue(bench).step()
    await board.gather()
    assert (await board.told(run)).state == "cancelled"
    assert await board.seen(run) == {"a": "same", "b": "same"}


async def test_any_number_of_schedulers_end_a_run_once(bench: Bench, board: Board) -> None:
    run = await board.run()
    await board.fetch("ab")
    bench.time.moves(LIMIT + PAUSES)
    await asyncio.gather(*(overdue(bench).step() for _ in range(5)))
    assert (await bench.events(run)).count("job_cancelled") == 1
    assert await bench.violations() == []


async def test_who_has_not_heard_of_a_jump_ends_nothing(bench: Bench, board: Board) -> None:
    run = await board.run()
    await board.fetch("ab")
    bench.time.moves(LIMIT + PAUSES)
    bench.clock.version = (await bench.row("SELECT version FROM clock")).version - 1
    assert await overdue(bench).step() == 0.2
    assert (await bench.counts(run)).state == "running"


async def test_other_jobs_may_last_as_long_as_they_do(bench: Bench) -> None:
    job = await bench.job("https://site.example/1", "https://site.example/2")
    worker = await bench.worker()
    [visit, *_] = await worker.lease_and_take()
    await worker.flush(started=[visit.page_id])
    bench.time.moves(3 * DAY)
    await overdue(bench).step()
    assert (await bench.counts(job)).cancelled == 0


async def test_a_scheduler_ends_it_and_says_so(bench: Bench, board: Board) -> None:
    run = await board.run()
    await board.fetch("ab")
    bench.time.moves(LIMIT + PAUSES)
    scheduler = SchedulerLoops(store=bench.store, clock=bench.clock, policy=Policy(),
                               run_timeout=LIMIT,
                               disk=unwatched(bench.store, bench.clock),
                          ticker=ticker(bench.store, bench.clock))  # fmt: skip
    running = asyncio.create_task(scheduler.run())

    async def told() -> bool:
        return "cancelled after 900 seconds" in ((await board.told(run)).message or "")

    await until(told, 20, lambda: "the run goes on")
    await scheduler.stop()
    await running
