"""What a cancel promises: its own items end, nobody else's do, and no late result counts."""

import pytest

from curtsy.errors import NotFound, WrongState
from curtsy.frontier.control import lost_visits, source_news
from curtsy.jobs import purge_some
from support.frontier import Bench, failed, fetched, retried

SITE = "https://site.example"


async def test_a_cancelled_jobs_waiting_pages_are_removed_and_counted(bench: Bench) -> None:
    job = await bench.job(*(f"{SITE}/{i}" for i in range(4)))
    worker = await bench.worker()
    one, two, *_rest = await worker.lease_and_take()
    await worker.flush(fetched(one), failed(two))
    assert await bench.cancel(job) == 2
    counts = await bench.counts(job)
    assert (counts.state, counts.done, counts.failed, counts.cancelled) == ("cancelled", 1, 1, 2)
    assert await bench.rows("SELECT * FROM visits") == []
    assert (await bench.events(job))[-2:] == ["job_cancelled", "job_finished"]
    assert [i.kind for i in await bench.items(job)].count("cancelled") == 2
    assert await bench.violations() == []


async def test_pages_that_other_jobs_wait_for_stay(bench: Bench) -> None:
    first = await bench.job(f"{SITE}/shared", f"{SITE}/own")
    second = await bench.job(f"{SITE}/shared")
    assert await bench.cancel(first) == 2
    worker = await bench.worker()
    [visit] = await worker.lease_and_take()
    assert visit.url == f"{SITE}/shared"
    await worker.flush(fetched(visit))
    assert (await bench.counts(second)).state == "succeeded"
    assert (await bench.counts(first)).cancelled == 2
    assert await bench.violations() == []


async def test_the_last_job_to_leave_a_page_removes_its_visit(bench: Bench) -> None:
    jobs = [await bench.job(f"{SITE}/shared") for _ in range(3)]
    for job in jobs[:2]:
        await bench.cancel(job)
        assert len(await bench.rows("SELECT * FROM visits")) == 1
    await bench.cancel(jobs[2])
    assert await bench.rows("SELECT * FROM visits") == []


async def test_a_second_cancel_is_refused_and_changes_nothing(bench: Bench) -> None:
    job = await bench.job(f"{SITE}/page")
    await bench.cancel(job)
    before = await bench.dump()
    with pytest.raises(WrongState, match="is cancelled"):
        await bench.cancel(job)
    assert await bench.dump() == before


async def test_a_finished_job_cannot_be_cancelled(bench: Bench) -> None:
    job = await bench.job(f"{SITE}/page")
    worker = await bench.worker()
    await worker.flush(*[fetched(v) for v in await worker.lease_and_take()])
    with pytest.raises(WrongState, match="is succeeded"):
        await bench.cancel(job)


async def test_an_unknown_job_cannot_be_cancelled(bench: Bench) -> None:
    with pytest.raises(NotFound):
        await bench.cancel("job_none")


async def test_a_result_that_comes_after_the_cancel_is_dropped(bench: Bench) -> None:
    job = await bench.job(f"{SITE}/page")
    worker = await bench.worker()
    [visit] = await worker.lease_and_take()
    await bench.cancel(job)
    assert (await bench.row("SELECT turn FROM pages")).turn == visit.turn
    assert (await worker.flush(fetched(visit))).recorded == 0
    assert await bench.rows("SELECT * FROM documents") == []
    assert (await bench.counts(job)).done == 0


async def test_a_page_submitted_again_after_a_cancel_has_a_new_turn(bench: Bench) -> None:
    job = await bench.job(f"{SITE}/page")
    worker = await bench.worker()
    [old] = await worker.lease_and_take()
    await bench.cancel(job)
    second = await bench.job(f"{SITE}/page")
    [new] = await worker.take()
    assert new.turn == old.turn + 1
    assert (await worker.flush(fetched(old, "late"))).recorded == 0
    assert (await bench.counts(second)).done == 0
    assert (await worker.flush(fetched(new, "right"))).recorded == 1
    assert (await bench.row("SELECT hash FROM documents")).hash == "right"
    assert await bench.violations() == []


async def test_a_postponed_page_can_be_cancelled(bench: Bench) -> None:
    job = await bench.job(f"{SITE}/page")
    worker = await bench.worker()
    [visit] = await worker.lease_and_take()
    await worker.flush(retried(visit, again_at=bench.time() + 1_000))
    assert await bench.cancel(job) == 1
    second = await bench.job(f"{SITE}/page")
    [again] = await worker.take()
    assert (again.turn, again.attempt, again.due_at) == (visit.turn + 2, 0, None)
    await worker.flush(fetched(again))
    assert (await bench.counts(second)).state == "succeeded"
    assert await bench.violations() == []


async def test_a_worker_hears_which_of_its_visits_are_gone(bench: Bench) -> None:
    job = await bench.job(f"{SITE}/own")
    await bench.submit(f"{SITE}/other")
    worker = await bench.worker()
    own, other = await worker.lease_and_take()
    held = [(v.page_id, v.turn, v.source_id) for v in (own, other)]
    assert await bench.store.read(lambda c: lost_visits(c, held)) == (set(), set())
    await bench.cancel(job)
    assert await bench.store.read(lambda c: lost_visits(c, held)) == (
        {(own.page_id, own.turn)},
        set(),
    )
    await bench.submit(f"{SITE}/own")
    assert await bench.store.read(lambda c: lost_visits(c, held)) == (
        {(own.page_id, own.turn)},
        set(),
    )


async def test_a_worker_hears_what_changed_for_its_sources(bench: Bench) -> None:
    await bench.submit(f"{SITE}/page", priority=9)
    worker = await bench.worker()
    [leased] = await worker.lease()
    await bench.submit(f"{SITE}/urgent", priority=1)
    await bench.execute(
        "UPDATE sources SET paused = true, control_version = 4, policy = :policy",
        policy='{"concurrency":2}',
    )
    heard = (await bench.store.read(lambda c: source_news(c, [leased.source_id])))[leased.source_id]
    assert (heard.owner, heard.epoch, heard.band) == (worker.name, leased.epoch, 1)
    assert (heard.paused, heard.control_version, heard.policy) == (True, 4, {"concurrency": 2})


async def test_a_purge_leaves_no_visit_that_nobody_waits_for(bench: Bench) -> None:
    """Also where a retry opened the job again after it was cancelled for the purge."""
    other = await bench.job(f"{SITE}/shared")
    job = await bench.job(f"{SITE}/shared", f"{SITE}/own")
    assert (await bench.store.write(lambda c: purge_some(c, job))).is_done
    assert await bench.violations() == []
    [left] = await bench.rows("SELECT p.url FROM visits v JOIN pages p ON p.id = v.page_id")
    assert left.url == f"{SITE}/shared"
    assert (await bench.counts(other)).state == "queued"
