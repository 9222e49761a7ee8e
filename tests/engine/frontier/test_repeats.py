"""What is told twice, or by somebody who should be dead, changes nothing."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from curtsy.errors import StoreAway
from curtsy.frontier.batch import Batch, Release, Result
from curtsy.frontier.take import Visit
from curtsy.jobs import cancel
from support.frontier import Bench, ScriptedWorker, again, failed, fetched, moved, rested, retried

SITE = "https://site.example"

BUILDERS: dict[str, Callable[[Visit], Result]] = {
    "fetched": fetched,
    "failed": failed,
    "retried": lambda v: retried(v, again_at=0),
    "rested": rested,
    "moved": lambda v: moved(v, "https://other.example/x"),
    "again": lambda v: again(v, "p", due_at=0),
}


async def all_kinds(bench: Bench) -> tuple[ScriptedWorker, Batch]:
    """A batch with every kind of outcome, of pages that two jobs share."""
    urls = [f"{SITE}/{name}" for name in BUILDERS]
    for _ in range(2):
        await bench.submit(*urls, f"{SITE}/started")
    worker = await bench.worker()
    visits = {v.url.rsplit("/", 1)[1]: v for v in await worker.lease_and_take()}
    results = [build(visits[name]) for name, build in BUILDERS.items()]
    return worker, worker.batch(*results, started=[visits["started"].page_id])


async def test_the_same_batch_flushed_twice_changes_nothing(bench: Bench) -> None:
    worker, batch = await all_kinds(bench)
    flushed = await worker.flush_batch(batch)
    assert flushed.recorded == len(BUILDERS)
    before = await bench.dump()
    repeated = await worker.flush_batch(batch)
    assert (repeated.recorded, repeated.dropped) == (0, len(BUILDERS))
    assert await bench.dump() == before
    assert await bench.violations() == []


async def test_the_same_batch_with_a_release_flushed_twice_changes_nothing(bench: Bench) -> None:
    worker, batch = await all_kinds(bench)
    [(source_id, report)] = batch.reports.items()
    release = Release(more=True, band=2, known_band=2, looks=0)
    batch.reports[source_id] = replace(report, release=release)
    await worker.flush_batch(batch)
    before = await bench.dump()
    repeated = await worker.flush_batch(batch)
    assert repeated.lost_sources == {source_id}
    assert await bench.dump() == before


async def test_a_batch_repeated_after_the_source_was_leased_again_changes_nothing(
    bench: Bench,
) -> None:
    worker, batch = await all_kinds(bench)
    await worker.flush_batch(batch)
    [source_id] = batch.reports
    await worker.release(source_id, more=True)
    await worker.lease(bands=[1])
    before = await bench.dump()
    repeated = await worker.flush_batch(batch)
    assert (repeated.recorded, repeated.lost_sources) == (0, {source_id})
    assert await bench.dump() == before


@pytest.mark.parametrize("name", list(BUILDERS))
async def test_a_zombies_flush_after_the_reap_is_dropped(bench: Bench, name: str) -> None:
    await bench.submit("https://other.example/")
    await (await bench.worker("holds the other source")).lease()
    await bench.submit(f"{SITE}/page")
    zombie = await bench.worker("zombie")
    [visit] = await zombie.lease_and_take()
    batch = zombie.batch(
        BUILDERS[name](visit),
        release={visit.source_id: Release(more=False, band=1, known_band=1, looks=4)},
    )
    assert await bench.bury("zombie") == ["zombie"]
    before = await bench.dump()
    flushed = await zombie.flush_batch(batch)
    assert (flushed.recorded, flushed.dropped) == (0, 1)
    assert flushed.lost_sources == {visit.source_id}
    assert await bench.dump() == before


async def test_a_zombies_flush_cannot_touch_the_next_owners_lease(bench: Bench) -> None:
    await bench.submit(f"{SITE}/page")
    zombie, heir = await bench.worker("zombie"), await bench.worker("heir")
    [visit] = await zombie.lease_and_take()
    await bench.bury("zombie")
    bench.time.moves(5_000)
    [same] = await heir.lease_and_take()
    before = await bench.dump()
    await zombie.flush(fetched(visit, "stale"))
    await zombie.release(visit.source_id)
    assert await bench.dump() == before
    assert (await heir.flush(fetched(same, "good"))).recorded == 1
    assert (await bench.row("SELECT hash FROM documents")).hash == "good"


async def test_one_batch_may_lose_one_source_and_keep_another(bench: Bench) -> None:
    await bench.submit("https://lost.example/", "https://kept.example/")
    worker = await bench.worker()
    visits = await worker.lease_and_take()
    await bench.execute("UPDATE sources SET epoch = epoch + 1 WHERE name = 'lost.example'")
    lost = (await bench.source("lost.example")).id
    flushed = await worker.flush(*[fetched(v) for v in visits])
    assert (flushed.recorded, flushed.dropped, flushed.lost_sources) == (1, 1, {lost})
    [left] = await bench.rows("SELECT source_id FROM visits")
    assert left.source_id == lost
    assert await bench.violations() == []


async def test_results_without_a_report_of_their_source_are_dropped(bench: Bench) -> None:
    await bench.submit(f"{SITE}/page")
    worker = await bench.worker()
    [visit] = await worker.lease_and_take()
    flushed = await worker.flush_batch(Batch([fetched(visit)]))
    assert (flushed.recorded, flushed.dropped) == (0, 1)


async def test_a_result_of_an_earlier_turn_is_dropped(bench: Bench) -> None:
    await bench.submit(f"{SITE}/page")
    worker = await bench.worker()
    [visit] = await worker.lease_and_take()
    await worker.flush(retried(visit, again_at=bench.time()))
    before = await bench.dump()
    for build in BUILDERS.values():
        if build is not BUILDERS["moved"]:
            assert (await worker.flush(build(visit))).recorded == 0
    assert await bench.dump() == before


async def test_a_submit_whose_commit_was_in_doubt_is_not_repeated(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner, tries = bench.store.write, []

    async def loses_the_answer(work, **more):  # type: ignore[no-untyped-def]
        done = await inner(work, **more)
        tries.append(1)
        if len(tries) == 1:
            raise StoreAway("the answer was lost")
        return done

    monkeypatch.setattr(bench.store, "write", loses_the_answer)
    submitted = await bench.submit(f"{SITE}/page")
    assert len(tries) == 2
    assert (await bench.row("SELECT public_id FROM jobs")).public_id == submitted.job
    assert (await bench.row("SELECT reference_count FROM pages")).reference_count == 1


async def test_a_failed_transaction_leaves_nothing(bench: Bench) -> None:
    job = await bench.job(f"{SITE}/page")
    before = await bench.dump()

    def work(connection) -> None:  # type: ignore[no-untyped-def]
        cancel(connection, job, now=bench.time())
        raise LookupError

    with pytest.raises(LookupError):
        await bench.store.write(work)
    assert await bench.dump() == before


@pytest.mark.parametrize("kind", BUILDERS)
async def test_of_two_turns_of_a_page_in_one_batch_one_counts(bench: Bench, kind: str) -> None:
    """As when its host moved to another source of the same worker, while it was under way."""
    job = await bench.job("https://a.example/1")
    worker = await bench.worker()
    [first] = await worker.lease_and_take()
    await worker.flush(retried(first, again_at=bench.time()))
    [second] = await worker.take()
    assert (first.turn, second.turn) == (1, 2)
    batch = worker.batch(BUILDERS[kind](first), BUILDERS[kind](second))
    assert (await worker.flush_batch(batch)).recorded == 1
    assert await bench.violations() == []
    rows = await bench.rows("SELECT turn FROM attempts ORDER BY turn")
    assert [row.turn for row in rows] == [1, 2]
    assert (await bench.counts(job)).done == (kind == "fetched")
