"""Each rule of the shared rows in the one interleaving that needs it: with the rule nothing is
lost; with the rule removed the checker finds what was. `Held` forces the interleaving."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from asyncpg import UniqueViolationError

from curtsy.frontier import flush, job_counts
from curtsy.jobs import admission
from curtsy.store import Connection
from curtsy.store.greenlet_bridge import wait_for
from support import removed
from support.frontier import Bench, fetched
from support.holding import Repeats, blocked_or_done, hold
from support.sql import run, text

PAGE = "https://site.example/page"

Patch = pytest.MonkeyPatch
Remove = Callable[[Patch], None]


def without(monkeypatch: Patch, *rules: Remove) -> None:
    for remove in rules:
        remove(monkeypatch)


# lock the page first


async def a_cancel_meets_a_submit(bench: Bench, monkeypatch: Patch) -> None:
    """The submit has joined the page's visit and not committed when the cancel comes."""
    first = await bench.job(PAGE)
    held = hold(monkeypatch, admission, "insert_deliveries")
    joining = asyncio.create_task(bench.submit(PAGE))
    await held.reached()
    cancelling = asyncio.create_task(bench.cancel(first))
    assert await blocked_or_done(bench.store, cancelling)
    held.let_go()
    await asyncio.gather(joining, cancelling)


async def test_a_page_joined_while_its_only_job_is_cancelled_stays(
    bench: Bench, monkeypatch: Patch
) -> None:
    await a_cancel_meets_a_submit(bench, monkeypatch)
    assert await bench.violations() == []


@pytest.mark.parametrize("rule", [removed.page_lock, removed.locking_join])
async def test_without_the_page_lock_on_either_side_a_cancel_loses_a_joined_page(
    bench: Bench, monkeypatch: Patch, rule: Remove
) -> None:
    without(monkeypatch, rule)
    await a_cancel_meets_a_submit(bench, monkeypatch)
    assert "a waiting item has a visit" in str(await bench.violations())


async def a_flush_meets_a_submit(bench: Bench, monkeypatch: Patch) -> None:
    """The submit has joined the page's visit and not committed when its result is flushed."""
    await bench.submit(PAGE)
    worker = await bench.worker()
    [visit] = await worker.lease_and_take()
    held = hold(monkeypatch, admission, "insert_deliveries")
    joining = asyncio.create_task(bench.submit(PAGE))
    await held.reached()
    flushing = asyncio.create_task(worker.flush(fetched(visit)))
    await blocked_or_done(bench.store, flushing)
    held.let_go()
    await asyncio.gather(joining, flushing)


async def test_a_page_joined_while_its_result_is_flushed_counts_for_the_joining_job(
    bench: Bench, monkeypatch: Patch
) -> None:
    await a_flush_meets_a_submit(bench, monkeypatch)
    assert await bench.violations() == []


async def test_a_flush_of_one_statement_without_the_page_lock_loses_a_joined_page(
    bench: Bench, monkeypatch: Patch
) -> None:
    without(monkeypatch, removed.page_lock, removed.later_statement)
    await a_flush_meets_a_submit(bench, monkeypatch)
    assert "a waiting item has a visit" in str(await bench.violations())


@pytest.mark.parametrize("rule", [removed.page_lock, removed.later_statement])
async def test_a_flush_is_guarded_twice_against_losing_a_joined_page(
    bench: Bench, monkeypatch: Patch, rule: Remove
) -> None:
    """Either rule covers this one: the join also locks the visit's row, and what waits for the
    page lock takes its snapshot later. Removing the page lock shows elsewhere (see below)."""
    without(monkeypatch, rule)
    await a_flush_meets_a_submit(bench, monkeypatch)
    assert await bench.violations() == []


async def test_a_join_that_locks_nothing_loses_a_page_to_a_flush(
    bench: Bench, monkeypatch: Patch
) -> None:
    without(monkeypatch, removed.locking_join, removed.locking_join_of_visits)
    await a_flush_meets_a_submit(bench, monkeypatch)
    assert "a waiting item has a visit" in str(await bench.violations())


async def a_submit_meets_a_flush(bench: Bench, monkeypatch: Patch) -> int:
    """The flush has removed the visit, and not yet written its page, when the submit comes.

    Returns how many visits there are afterwards.
    """
    await bench.submit(PAGE)
    worker = await bench.worker()
    [visit] = await worker.lease_and_take()
    held = hold(monkeypatch, flush, "insert_dead_letters")
    flushing = asyncio.create_task(worker.flush(fetched(visit)))
    await held.reached()
    joining = asyncio.create_task(bench.submit(PAGE))
    await blocked_or_done(bench.store, joining)
    held.let_go()
    await asyncio.gather(joining, flushing)
    left = await worker.take()
    await worker.flush(*(fetched(visit) for visit in left))
    return len(left)


async def test_a_page_submitted_while_its_visit_ends_gets_a_new_visit(
    bench: Bench, monkeypatch: Patch, repeats: Repeats
) -> None:
    assert await a_submit_meets_a_flush(bench, monkeypatch) == 1
    assert await bench.violations() == []
    assert repeats.states == []


async def test_without_the_page_lock_a_flush_and_a_submit_wait_for_each_other(
    bench: Bench, monkeypatch: Patch, repeats: Repeats
) -> None:
    """Either may be begun again; if it is the flush, the submit has joined its visit."""
    without(monkeypatch, removed.page_lock)
    await a_submit_meets_a_flush(bench, monkeypatch)
    assert repeats.deadlocks > 0


async def test_without_the_locking_join_a_turn_is_given_out_twice(
    bench: Bench, monkeypatch: Patch
) -> None:
    without(monkeypatch, removed.locking_join)
    with pytest.raises(UniqueViolationError, match="attempts_pkey"):
        await a_submit_meets_a_flush(bench, monkeypatch)


# locks in one order


async def locks_cross(bench: Bench) -> None:
    """Pages whose rows lie in the opposite of their order. A bystander holds the one in the middle
    until a submit, which always goes in order, and a cancel both wait."""
    urls = [f"https://site.example/{n}" for n in range(9)]
    job = await bench.job(*urls)
    pages = await bench.rows("SELECT id FROM pages ORDER BY fingerprint")
    for page in reversed(pages):
        await bench.execute("UPDATE pages SET checked_at = 1 WHERE id = :id", id=page.id)
    held, leave = asyncio.Event(), asyncio.Event()

    def bystander(c: Connection) -> None:
        run(c, text("SELECT 1 FROM pages WHERE id = :id FOR UPDATE"), {"id": pages[4].id})
        held.set()
        wait_for(leave.wait())

    tasks: list[asyncio.Task[Any]] = [asyncio.create_task(bench.store.write(bystander))]
    await held.wait()
    for waiting, coming in enumerate((bench.cancel(job), bench.submit(*urls)), 1):
        tasks.append(asyncio.create_task(coming))
        assert await blocked_or_done(bench.store, tasks[-1], waiting=waiting)
    leave.set()
    await asyncio.gather(*tasks)


async def test_page_locks_in_one_order_never_cross(bench: Bench, repeats: Repeats) -> None:
    await locks_cross(bench)
    assert repeats.states == []
    assert await bench.violations() == []


async def test_page_locks_without_an_order_end_in_a_deadlock(
    bench: Bench, monkeypatch: Patch, repeats: Repeats
) -> None:
    without(monkeypatch, removed.order_of_page_locks)
    await locks_cross(bench)
    assert repeats.deadlocks > 0


# a flush fences first, and hangs on the turn


async def a_zombie_flushes(bench: Bench) -> bool:
    """Whether a second worker could lease the source while its owner was at work."""
    await bench.submit(PAGE)
    zombie, owner, third = [await bench.worker(name) for name in ("zombie", "owner", "third")]
    [visit] = await zombie.lease_and_take()
    await bench.bury("zombie")
    bench.time.moves(5_000)
    await owner.lease_and_take()
    await zombie.flush(fetched(visit, "stale"))
    await zombie.release(visit.source_id)
    bench.time.moves(5_000)
    return bool(await third.lease())


async def test_a_zombie_cannot_free_the_source_of_its_heir(bench: Bench) -> None:
    assert not await a_zombie_flushes(bench)


async def test_without_the_fence_two_workers_share_a_source(
    bench: Bench, monkeypatch: Patch
) -> None:
    """Counts stay right even then, because the turn guard drops whichever result comes second;
    what the fence alone protects is the lease, and with it the site."""
    without(monkeypatch, removed.fence)
    assert await a_zombie_flushes(bench)
    assert await bench.violations() == []


async def a_result_comes_late(bench: Bench) -> int:
    """How many results of a cancelled turn counted for the job that came afterwards."""
    first = await bench.job(PAGE)
    worker = await bench.worker()
    [visit] = await worker.lease_and_take()
    await bench.cancel(first)
    await bench.submit(PAGE)
    return (await worker.flush(fetched(visit, "late"))).recorded


async def test_a_late_result_does_not_count_for_a_later_turn(bench: Bench) -> None:
    assert await a_result_comes_late(bench) == 0
    assert await bench.violations() == []


async def test_without_the_turn_guard_a_late_result_counts(
    bench: Bench, monkeypatch: Patch
) -> None:
    without(monkeypatch, removed.turn_guard)
    assert await a_result_comes_late(bench) == 1


# jobs are counted under their lock


async def two_flushes_count_for_one_job(bench: Bench, monkeypatch: Patch) -> None:
    await bench.submit("https://a.example/", "https://b.example/")
    workers = [await bench.worker("one"), await bench.worker("two")]
    flushing = []
    for worker in workers:
        await worker.lease(1)
    held = hold(monkeypatch, job_counts, "together")
    for worker in workers:
        [visit] = await worker.take()
        flushing.append(asyncio.create_task(worker.flush(fetched(visit))))
        if len(flushing) == 1:
            await held.reached()
    await blocked_or_done(bench.store, flushing[1])
    held.let_go()
    await asyncio.gather(*flushing)


async def test_two_flushes_that_end_pages_of_one_job_at_once_are_both_counted(
    bench: Bench, monkeypatch: Patch
) -> None:
    await two_flushes_count_for_one_job(bench, monkeypatch)
    assert await bench.violations() == []
    assert (await bench.row("SELECT state FROM jobs")).state == "succeeded"


async def test_without_the_jobs_lock_two_events_get_one_number(
    bench: Bench, monkeypatch: Patch
) -> None:
    without(monkeypatch, removed.job_lock)
    with pytest.raises(UniqueViolationError, match="events_job_id_n"):
        await two_flushes_count_for_one_job(bench, monkeypatch)
