"""When a source that was given back is looked at next."""

import pytest

from curtsy.frontier.batch import Release
from curtsy.frontier.take import Visit
from support.frontier import Bench, ScriptedWorker, fetched, retried

SITE = "https://site.example"


async def held(bench: Bench, priority: int = 5) -> tuple[ScriptedWorker, Visit]:
    await bench.submit(f"{SITE}/page", priority=priority)
    worker = await bench.worker()
    [visit] = await worker.lease_and_take()
    return worker, visit


def empty(looks: int, known_band: int = 2) -> Release:
    return Release(more=False, band=1, known_band=known_band, looks=looks)


async def test_a_source_with_more_is_ready_when_it_may_next_be_asked(bench: Bench) -> None:
    worker, visit = await held(bench)
    release = Release(more=True, band=2, known_band=2, looks=0)
    batch = worker.batch(release={visit.source_id: release})
    batch.reports[visit.source_id] = worker.report(
        visit.source_id, release, next_fetch_at=bench.time() + 700
    )
    await worker.flush_batch(batch)
    source = await bench.source("site.example")
    assert (source.owner, source.ready_at, source.band) == (None, bench.time() + 700, 2)


@pytest.mark.parametrize(("looks", "after"), [(1, 1_000), (2, 10_000), (3, 60_000), (4, None)])
async def test_an_empty_source_is_looked_at_less_and_less_and_then_parked(
    bench: Bench, looks: int, after: int | None
) -> None:
    worker, visit = await held(bench)
    await worker.flush(fetched(visit), release={visit.source_id: empty(looks)})
    source = await bench.source("site.example")
    assert source.ready_at == (None if after is None else bench.time() + after)
    assert (source.owner, source.looks) == (None, looks)


@pytest.mark.parametrize("looks", [1, 4])
async def test_a_source_with_a_postponed_visit_is_ready_when_that_is_due(
    bench: Bench, looks: int
) -> None:
    worker, visit = await held(bench)
    due = bench.time() + 500
    await worker.flush(retried(visit, again_at=due), release={visit.source_id: empty(looks)})
    assert (await bench.source("site.example")).ready_at == due


async def test_the_earliest_of_several_postponed_visits_decides(bench: Bench) -> None:
    await bench.submit(*(f"{SITE}/{i}" for i in range(3)))
    worker = await bench.worker()
    one, two, three = await worker.lease_and_take()
    at = bench.time()
    results = [
        retried(v, again_at=at + wait)
        for v, wait in ((one, 90_000), (two, 70_000), (three, 80_000))
    ]
    await worker.flush(*results, release={one.source_id: empty(4)})
    assert (await bench.source("site.example")).ready_at == at + 70_000


async def test_news_of_a_better_band_makes_a_released_source_ready_at_once(bench: Bench) -> None:
    worker, visit = await held(bench)
    await bench.submit(f"{SITE}/urgent", priority=1)
    await worker.flush(fetched(visit), release={visit.source_id: empty(4, known_band=2)})
    source = await bench.source("site.example")
    assert (source.ready_at, source.band) == (bench.time(), 1)


async def test_a_source_released_while_resting_stays_closed_until_its_rest_is_over(
    bench: Bench,
) -> None:
    worker, visit = await held(bench)
    report = worker.report(visit.source_id, empty(1), next_fetch_at=bench.time() + 90_000)
    batch = worker.batch(fetched(visit))
    batch.reports[visit.source_id] = report
    await worker.flush_batch(batch)
    assert (await bench.source("site.example")).ready_at == bench.time() + 90_000


@pytest.mark.parametrize("looks", [1, 2, 4])
async def test_work_that_came_after_the_last_look_makes_a_released_source_ready_at_once(
    bench: Bench, looks: int
) -> None:
    worker, visit = await held(bench)
    await bench.submit(f"{SITE}/same-band")
    await worker.flush(fetched(visit), release={visit.source_id: empty(looks)})
    assert (await bench.source("site.example")).ready_at == bench.time()
    assert [v.url for v in await worker.lease_and_take()] == [f"{SITE}/same-band"]


async def test_a_released_source_belongs_to_nobody_and_keeps_its_epoch(bench: Bench) -> None:
    worker, visit = await held(bench)
    await worker.release(visit.source_id)
    source = await bench.source("site.example")
    assert (source.owner, source.epoch) == (None, worker.leases[visit.source_id].epoch)
    flushed = await worker.flush(fetched(visit))
    assert flushed.lost_sources == {visit.source_id}
