"""What a lease promises: nobody else asks that source until it is given back."""

import asyncio
from dataclasses import replace

import pytest

from curtsy.frontier.batch import Release
from curtsy.frontier.lease import AHEAD, LowWater, lease, next_ready
from support.frontier import Bench, fetched


async def test_a_lease_raises_the_epoch_and_names_the_owner(bench: Bench) -> None:
    await bench.submit("https://a.example/")
    worker = await bench.worker()
    [first] = await worker.lease()
    assert (await bench.source("a.example")).owner == worker.name
    await worker.release(first.source_id, more=True)
    [second] = await worker.lease()
    assert second.epoch == first.epoch + 1


async def test_two_workers_never_share_a_source(bench: Bench) -> None:
    await bench.submit(*(f"https://h{i}.example/" for i in range(40)))
    crowd = [await bench.worker(f"w{i}") for i in range(8)]
    leased = await asyncio.gather(*(worker.lease(7) for worker in crowd))
    sources = [one.source_id for leases in leased for one in leases]
    assert len(sources) == len(set(sources))
    for worker in crowd:
        await worker.lease(40)
    held = [i for worker in crowd for i in worker.leases]
    assert sorted(held) == sorted(set(held))
    assert len(held) == 40


async def test_a_leased_source_is_leased_to_nobody_else_even_when_work_arrives(
    bench: Bench,
) -> None:
    await bench.submit("https://a.example/")
    owner, other = await bench.worker("owner"), await bench.worker("other")
    await owner.lease()
    await bench.submit("https://a.example/2", priority=1)
    bench.time.moves(3_600_000)
    assert await other.lease() == []


async def test_paused_sources_are_left(bench: Bench) -> None:
    await bench.submit("https://a.example/")
    await bench.execute("UPDATE sources SET paused = true")
    worker = await bench.worker()
    assert await worker.lease() == []
    await bench.execute("UPDATE sources SET paused = false")
    assert len(await worker.lease()) == 1


async def test_sources_are_left_until_they_are_ready(bench: Bench) -> None:
    await bench.submit("https://a.example/")
    await bench.execute("UPDATE sources SET ready_at = :at", at=bench.time() + 10)
    worker = await bench.worker()
    assert await worker.lease() == []
    assert await bench.store.read(lambda c: next_ready(c)) == bench.time() + 10
    bench.time.moves(10)
    assert len(await worker.lease()) == 1


async def test_parked_sources_are_left(bench: Bench) -> None:
    await bench.submit("https://a.example/")
    await bench.execute("UPDATE sources SET ready_at = NULL")
    worker = await bench.worker()
    assert await worker.lease() == []


async def test_only_the_bands_asked_for_are_leased(bench: Bench) -> None:
    for host, priority in (("high", 1), ("medium", 5), ("low", 10)):
        await bench.submit(f"https://{host}.example/", priority=priority)
    worker = await bench.worker()
    assert [one.name for one in await worker.lease(bands=[3])] == ["low.example"]
    assert [one.name for one in await worker.lease(bands=[1, 2])] == [
        "high.example", "medium.example",
    ]  # fmt: skip


async def test_no_more_sources_than_wanted_and_the_longest_ready_first(bench: Bench) -> None:
    for host in "cab":
        await bench.submit(f"https://{host}.example/")
        bench.time.moves(10)
    worker = await bench.worker()
    assert {one.name for one in await worker.lease(2)} == {"c.example", "a.example"}


async def test_a_worker_whose_clock_is_of_another_version_leases_nothing(bench: Bench) -> None:
    await bench.submit("https://a.example/")
    worker = await bench.worker()
    assert await worker.lease(clock_version=7) == []
    unsynchronised = await bench.store.write(
        lambda c: lease(c, worker="w1", wants={2: 9}, low_water=LowWater(), clock_version=None,
                        now=bench.time())
    )  # fmt: skip
    assert unsynchronised == []
    assert len(await worker.lease()) == 1


async def test_a_dead_worker_leases_nothing(bench: Bench) -> None:
    await bench.submit("https://a.example/")
    worker = await bench.worker()
    await bench.bury(worker.name)
    assert await worker.lease() == []


async def test_a_lease_says_how_long_the_source_still_rests(bench: Bench) -> None:
    await bench.submit("https://a.example/")
    await bench.execute("UPDATE sources SET next_fetch_at = :at", at=bench.time() + 800)
    [leased] = await (await bench.worker()).lease()
    assert leased.wait == 800


async def test_what_a_lane_reported_comes_back_with_the_next_lease(bench: Bench) -> None:
    await bench.submit("https://a.example/")
    worker = await bench.worker()
    [visit] = await worker.lease_and_take()
    batch = worker.batch(fetched(visit))
    batch.reports[visit.source_id] = replace(
        batch.reports[visit.source_id], fail_streak=3, failing_since=17, ranks='{"5":[9,2]}',
        pace='{"rest":1}',
        release=Release(more=True, band=2, known_band=2, looks=0),
    )  # fmt: skip
    await worker.flush_batch(batch)
    [again] = await worker.lease()
    assert (again.fail_streak, again.failing_since, again.ranks) == (3, 17, {"5": [9, 2]})
    assert again.pace == {"rest": 1}


async def test_the_low_water_mark_hides_no_source_that_becomes_ready_later(bench: Bench) -> None:
    low, worker = LowWater(), await bench.worker()

    async def leased() -> int:
        found = await bench.store.write(
            lambda c: lease(c, worker=worker.name, wants={2: 9}, low_water=low, clock_version=1,
                            now=bench.time())
        )  # fmt: skip
        return len(found)

    assert await leased() == 0
    bench.time.moves(4_000)
    await bench.submit("https://a.example/")
    assert await leased() == 1


async def test_a_source_is_leased_before_its_next_request_is_due_and_told_to_wait(
    bench: Bench,
) -> None:
    """So its new owner reads the queue meanwhile, and no turn is lost."""
    await bench.submit("https://a.example/")
    due = bench.time() + AHEAD + 1
    await bench.execute("UPDATE sources SET ready_at = :at, next_fetch_at = :at", at=due)
    worker = await bench.worker()
    assert await worker.lease() == []
    assert await bench.store.read(next_ready) == due - AHEAD
    bench.time.moves(1)
    [leased] = await worker.lease()
    assert (leased.ahead, leased.wait, leased.ready_for) == (AHEAD, AHEAD, 0)


@pytest.mark.parametrize("why", ["next_fetch_at = NULL", "next_fetch_at = :at, unreported = true"])
async def test_one_that_waits_for_more_than_its_pace_is_not_leased_ahead(
    bench: Bench, why: str
) -> None:
    await bench.submit("https://a.example/")
    due = bench.time() + 10
    await bench.execute(f"UPDATE sources SET ready_at = :at, {why}", at=due)
    worker = await bench.worker()
    assert await worker.lease() == []
    assert await bench.store.read(next_ready) == due
    bench.time.moves(10)
    [leased] = await worker.lease()
    assert leased.ahead == 0
