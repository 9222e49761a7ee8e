"""One time for all processes, and what a jump of the database's clock does to what waits.

The database's own clock cannot be set from a test, so the jump is made on the other side: a
process whose monotonic clock moves against the database sees the same as when the database jumps.
"""

import asyncio
from typing import Any

import pytest

from curtsy.clock import Clock, boot_time
from curtsy.frontier.clock_sync import synchronise
from support.frontier import Bench, ScriptedWorker, retried

HOUR = 3_600_000


class Skewed:
    """A real clock that can be moved."""

    def __init__(self) -> None:
        self.by = 0

    def __call__(self) -> int:
        return boot_time() + self.by


async def process(bench: Bench) -> tuple[Clock, Skewed]:
    """The clock of a process that has synchronised once."""
    skewed = Skewed()
    clock = Clock(monotonic=skewed)
    await synchronise(bench.store, clock)
    return clock, skewed


async def waits(bench: Bench) -> tuple[Any, ...]:
    source = await bench.row("SELECT ready_at, next_fetch_at, failing_since FROM sources")
    visit = await bench.row("SELECT due_at FROM visits")
    return (*source, *visit)


async def something_waits(bench: Bench) -> None:
    await bench.submit("https://site.example/")
    worker = await bench.worker()
    [visit] = await worker.lease_and_take()
    await worker.flush(retried(visit, again_at=bench.time() + 30_000))
    await worker.release(visit.source_id)
    await bench.execute("UPDATE sources SET failing_since = 5")


async def version(bench: Bench) -> int:
    found: int = (await bench.row("SELECT version FROM clock")).version
    return found


async def test_a_clock_that_agrees_shifts_nothing(bench: Bench) -> None:
    await something_waits(bench)
    clock, _skewed = await process(bench)
    before = await bench.dump()
    for _ in range(3):
        await synchronise(bench.store, clock)
    assert await bench.dump() == before


async def test_a_jump_of_the_databases_clock_shifts_what_waits_by_as_much(bench: Bench) -> None:
    await something_waits(bench)
    clock, skewed = await process(bench)
    before, told = await waits(bench), await version(bench)
    skewed.by = -HOUR
    await synchronise(bench.store, clock)
    moved = [after - was for after, was in zip(await waits(bench), before, strict=True)]
    assert len(set(moved)) == 1
    assert abs(moved[0] - HOUR) < 5_000
    assert await version(bench) == told + 1 == clock.version


async def test_a_jump_back_shifts_what_waits_back(bench: Bench) -> None:
    await something_waits(bench)
    clock, skewed = await process(bench)
    before = await waits(bench)
    skewed.by = HOUR
    await synchronise(bench.store, clock)
    assert all(abs(before[i] - HOUR - w) < 5_000 for i, w in enumerate(await waits(bench)))


async def test_a_message_about_an_alert_waits_no_longer_when_the_clock_jumps_back(
    bench: Bench,
) -> None:
    now = bench.time()
    for state in ("waiting", "delivered"):
        await bench.execute(
            "INSERT INTO alert_deliveries (channel, state, next_at, created_at) "
            f"VALUES ('a', '{state}', {now}, {now})"
        )
    clock, skewed = await process(bench)
    skewed.by += HOUR
    await synchronise(bench.store, clock)
    rows = [await bench.row(f"SELECT next_at FROM alert_deliveries WHERE state = '{state}'")
            for state in ("waiting", "delivered")]  # fmt: skip
    assert abs(rows[0].next_at - (now - HOUR)) < 10_000
    assert rows[1].next_at == now


@pytest.mark.parametrize("by", [-200, 200])
async def test_a_clock_that_is_set_by_a_moment_moves_no_request_nearer_to_the_last(
    bench: Bench, by: int
) -> None:
    await something_waits(bench)
    clock, skewed = await process(bench)
    before, told = await waits(bench), await version(bench)
    skewed.by = by
    await synchronise(bench.store, clock)
    assert await version(bench) == told + 1
    ready_at, next_fetch_at, failing_since, due_at = await waits(bench)
    assert abs(next_fetch_at - (before[1] - by)) < 100
    assert next_fetch_at - before[1] == ready_at - before[0]
    assert (failing_since, due_at) == before[2:]


async def test_of_sources_that_were_not_asked_for_long_it_moves_nothing(bench: Bench) -> None:
    await something_waits(bench)
    clock, skewed = await process(bench)
    await bench.execute("UPDATE sources SET next_fetch_at = :at", at=clock.now() - HOUR - 1_000)
    before = await waits(bench)
    skewed.by = -200
    await synchronise(bench.store, clock)
    assert await waits(bench) == before


async def test_a_jump_that_two_processes_notice_in_turn_is_shifted_once(bench: Bench) -> None:
    await something_waits(bench)
    (one, first), (two, second) = await process(bench), await process(bench)
    first.by = second.by = -HOUR
    await synchronise(bench.store, one)
    after = await waits(bench)
    await synchronise(bench.store, two)
    assert await waits(bench) == after
    assert one.version == two.version == await version(bench)
    assert abs(one.now() - two.now()) < 5_000


async def test_a_jump_that_many_processes_notice_at_once_is_shifted_once(bench: Bench) -> None:
    await something_waits(bench)
    processes = [await process(bench) for _ in range(8)]
    before, told = await waits(bench), await version(bench)
    for _clock, skewed in processes:
        skewed.by = -HOUR
    await asyncio.gather(*(synchronise(bench.store, clock) for clock, _skewed in processes))
    assert all(abs(w - before[i] - HOUR) < 5_000 for i, w in enumerate(await waits(bench)))
    assert await version(bench) == told + 1
    assert {clock.version for clock, _skewed in processes} == {told + 1}


async def test_two_jumps_are_shifted_twice(bench: Bench) -> None:
    await something_waits(bench)
    (one, first), (two, second) = await process(bench), await process(bench)
    before = await waits(bench)
    for clock, by in ((one, -HOUR), (two, -2 * HOUR)):
        first.by = second.by = by
        await synchronise(bench.store, clock)
        await synchronise(bench.store, one)
    assert all(abs(w - before[i] - 2 * HOUR) < 9_000 for i, w in enumerate(await waits(bench)))


async def test_until_it_synchronises_again_a_worker_leases_nothing_after_a_shift(
    bench: Bench,
) -> None:
    await bench.submit("https://site.example/")
    (one, skewed), (two, _steady) = await process(bench), await process(bench)
    worker = await ScriptedWorker(bench.store, lambda: bench.time() + 2 * HOUR, "w").register()
    skewed.by = -HOUR
    await synchronise(bench.store, one)
    assert await worker.lease(clock_version=two.version) == []
    await synchronise(bench.store, two)
    assert len(await worker.lease(clock_version=two.version)) == 1


async def test_a_process_that_starts_after_a_jump_takes_the_time_as_it_is(bench: Bench) -> None:
    await something_waits(bench)
    before = await waits(bench)
    wrong = Clock(monotonic=Skewed(), wall=lambda: 0)
    await synchronise(bench.store, wrong)
    assert await waits(bench) == before
    clock, _skewed = await process(bench)
    assert abs(wrong.now() - clock.now()) < 5_000
