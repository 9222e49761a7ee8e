"""Death is observed: who is reaped, what becomes of its sources, and what was forgotten."""

import pytest

from curtsy.frontier import control, worker_rows
from support.frontier import DELAY, Bench, fetched

SITE = "https://site.example"


async def test_a_reaped_workers_source_is_free_after_its_delay(bench: Bench) -> None:
    await bench.submit(f"{SITE}/page")
    worker, heir = await bench.worker("dead"), await bench.worker("heir")
    [held] = await worker.lease()
    assert await bench.bury("dead") == ["dead"]
    source = await bench.source("site.example")
    assert (source.owner, source.epoch, source.crash_streak) == (None, held.epoch + 1, 1)
    assert source.next_fetch_at == bench.time() + DELAY
    assert DELAY <= source.ready_at - bench.time() < DELAY + 500
    assert await heir.lease() == []
    bench.time.moves(DELAY + 500)
    [visit] = await heir.lease_and_take()
    await heir.flush(fetched(visit))
    assert (await bench.source("site.example")).crash_streak == 0


async def test_a_reap_never_shortens_a_sources_rest(bench: Bench) -> None:
    await bench.submit(f"{SITE}/page")
    worker = await bench.worker()
    await worker.lease()
    rest = bench.time() + 60_000
    await bench.execute("UPDATE sources SET next_fetch_at = :rest", rest=rest)
    await bench.bury(worker.name)
    source = await bench.source("site.example")
    assert source.next_fetch_at == rest
    assert source.ready_at >= rest


async def test_a_worker_that_beat_again_is_not_reaped(bench: Bench) -> None:
    await bench.submit(f"{SITE}/page")
    worker = await bench.worker()
    [held] = await worker.lease()
    seen = await bench.store.read(worker_rows.beats)
    assert await worker.beat()
    dead = list(seen.items())
    assert await bench.store.write(lambda c: worker_rows.reap(c, dead, now=bench.time())) == []
    source = await bench.source("site.example")
    assert (source.owner, source.epoch) == (worker.name, held.epoch)


async def test_a_buried_worker_learns_of_it_from_its_next_beat(bench: Bench) -> None:
    worker = await bench.worker()
    assert await worker.beat()
    await bench.bury(worker.name)
    assert not await worker.beat()


async def test_reaping_the_same_worker_twice_changes_nothing_more(bench: Bench) -> None:
    await bench.submit(f"{SITE}/page")
    worker = await bench.worker()
    await worker.lease()
    dead = list((await bench.store.read(worker_rows.beats)).items())
    await bench.store.write(lambda c: worker_rows.reap(c, dead, now=bench.time()))
    before = await bench.dump()
    bench.time.moves(100)
    assert await bench.store.write(lambda c: worker_rows.reap(c, dead, now=bench.time())) == []
    assert await bench.dump() == before


async def test_a_dead_workers_visits_are_as_they_were(bench: Bench) -> None:
    await bench.submit(f"{SITE}/a", f"{SITE}/b")
    worker = await bench.worker()
    await worker.lease_and_take()
    before = await bench.rows("SELECT * FROM visits ORDER BY page_id")
    await bench.bury(worker.name)
    assert await bench.rows("SELECT * FROM visits ORDER BY page_id") == before


async def test_a_source_of_an_owner_that_was_never_registered_is_freed(bench: Bench) -> None:
    await bench.submit(f"{SITE}/page")
    await bench.execute("UPDATE sources SET owner = 'nobody'")
    await bench.store.write(lambda c: worker_rows.reap(c, [], now=bench.time()))
    assert (await bench.source("site.example")).owner is None


async def test_a_worker_that_leaves_frees_its_sources_and_is_not_blamed(bench: Bench) -> None:
    await bench.submit(f"{SITE}/page")
    worker = await bench.worker()
    await worker.lease()
    await worker.leave()
    source = await bench.source("site.example")
    assert (source.owner, source.crash_streak) == (None, 0)
    assert source.next_fetch_at == bench.time() + DELAY
    assert await bench.store.read(worker_rows.beats) == {}


async def test_the_page_named_before_a_crash_is_blamed_for_it(bench: Bench) -> None:
    await bench.submit(f"{SITE}/good", f"{SITE}/bad")
    worker = await bench.worker()
    _good, bad = await worker.lease_and_take()
    epoch = worker.leases[bad.source_id].epoch

    def name_it(c):  # type: ignore[no-untyped-def]
        return control.store_suspect(
            c, source_id=bad.source_id, page_id=bad.page_id, worker=worker.name, epoch=epoch
        )

    assert await bench.store.write(name_it)
    await bench.bury(worker.name)
    crashes = await bench.rows("SELECT page_id, crashes FROM visits ORDER BY page_id")
    assert {row.page_id for row in crashes if row.crashes} == {bad.page_id}
    assert not await bench.store.write(name_it)


@pytest.mark.parametrize("paused", [False, True])
async def test_a_parked_source_with_visits_is_woken_unless_paused(
    bench: Bench, paused: bool
) -> None:
    await bench.submit(f"{SITE}/page")
    await bench.execute("UPDATE sources SET ready_at = NULL, paused = :paused", paused=paused)
    woken = await bench.store.write(lambda c: worker_rows.wake_forgotten(c, now=bench.time()))
    assert woken == (0 if paused else 1)
    ready = (await bench.source("site.example")).ready_at
    assert ready == (None if paused else bench.time())


async def test_a_parked_source_without_visits_stays_parked(bench: Bench) -> None:
    job = await bench.job(f"{SITE}/page")
    await bench.cancel(job)
    await bench.execute("UPDATE sources SET ready_at = NULL")
    assert await bench.store.write(lambda c: worker_rows.wake_forgotten(c, now=bench.time())) == 0
    assert (await bench.source("site.example")).ready_at is None
