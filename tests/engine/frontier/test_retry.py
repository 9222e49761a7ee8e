"""What a retry of failures promises: only those again, in a new round, all else as it was."""

import pytest

from curtsy.errors import NotFound, WrongState
from support.frontier import Bench, ScriptedWorker, failed, fetched, moved

SITE = "https://site.example"


async def half_failed(bench: Bench) -> tuple[str, ScriptedWorker]:
    """A job of four pages, of which the odd ones failed."""
    job = await bench.job(*(f"{SITE}/{i}" for i in range(4)))
    worker = await bench.worker()
    visits = await worker.lease_and_take()
    await worker.flush(*[failed(v) if i % 2 else fetched(v) for i, v in enumerate(visits)])
    return job, worker


async def test_a_retry_opens_the_job_for_another_round(bench: Bench) -> None:
    job, worker = await half_failed(bench)
    assert await bench.retry(job) == 2
    counts = await bench.counts(job)
    assert (counts.state, counts.done, counts.failed) == ("queued", 2, 0)
    row = await bench.row("SELECT round, finished_at FROM jobs")
    assert (row.round, row.finished_at) == (2, None)
    assert await bench.violations() == []
    one, two = await worker.take()
    await worker.flush(fetched(one))
    await worker.flush(fetched(two))
    assert (await bench.counts(job)).state == "succeeded"
    story = await bench.events(job)
    assert story.count("job_finished") == 2
    assert story[-5:] == [
        "job_retried", "job_started", "page_fetched", "page_fetched", "job_finished",
    ]  # fmt: skip
    assert await bench.violations() == []


async def test_results_that_did_not_fail_are_left_alone(bench: Bench) -> None:
    job, worker = await half_failed(bench)
    before = [i for i in await bench.items(job) if i.state == 1]
    bench.time.moves(5_000)
    await bench.retry(job)
    retried = await worker.take()
    assert [v.url for v in retried] == [f"{SITE}/1", f"{SITE}/3"]
    await worker.flush(*[fetched(v) for v in retried])
    after = await bench.items(job)
    assert [i for i in after if i.position % 2 == 0] == before
    assert [i.state for i in after] == [1] * 4


async def test_the_dead_letters_of_what_is_retried_say_so(bench: Bench) -> None:
    job, worker = await half_failed(bench)
    await bench.retry(job)
    letters = await bench.rows("SELECT state FROM dead_letters")
    assert [letter.state for letter in letters] == ["retried", "retried"]
    await worker.flush(*[failed(v) for v in await worker.take()])
    letters = await bench.rows("SELECT state FROM dead_letters ORDER BY id")
    assert [letter.state for letter in letters] == ["retried", "retried", "open", "open"]
    assert await bench.violations() == []


async def test_a_retry_has_all_its_attempts_again_under_a_new_turn(bench: Bench) -> None:
    job, worker = await half_failed(bench)
    await bench.retry(job)
    assert {(v.turn, v.attempt) for v in await worker.take()} == {(2, 0)}


async def test_a_late_result_of_the_former_round_is_dropped(bench: Bench) -> None:
    job = await bench.job(f"{SITE}/page")
    worker = await bench.worker()
    [visit] = await worker.lease_and_take()
    await worker.flush(failed(visit))
    await bench.retry(job)
    assert (await worker.flush(fetched(visit))).recorded == 0
    assert (await bench.counts(job)).done == 0


async def test_a_retried_page_that_another_job_waits_for_is_joined(bench: Bench) -> None:
    job, worker = await half_failed(bench)
    other = await bench.job(f"{SITE}/1", priority=7)
    await bench.retry(job)
    visits = await worker.take()
    assert len(visits) == 2
    assert {v.priority for v in visits} == {5}
    await worker.flush(*[fetched(v) for v in visits])
    assert (await bench.counts(other)).done == 1
    assert (await bench.counts(job)).done == 4
    assert await bench.violations() == []


async def test_a_retry_of_one_job_leaves_the_same_failure_of_another(bench: Bench) -> None:
    jobs = [await bench.job(f"{SITE}/page") for _ in range(2)]
    worker = await bench.worker()
    await worker.flush(*[failed(v) for v in await worker.lease_and_take()])
    await bench.retry(jobs[0])
    await worker.flush(*[fetched(v) for v in await worker.take()])
    assert (await bench.counts(jobs[0])).state == "succeeded"
    assert (await bench.counts(jobs[1])).state == "failed"
    assert await bench.violations() == []


async def test_a_job_without_failures_cannot_be_retried(bench: Bench) -> None:
    job = await bench.job(f"{SITE}/page")
    before = await bench.dump()
    with pytest.raises(WrongState, match="without failures"):
        await bench.retry(job)
    assert await bench.dump() == before
    with pytest.raises(NotFound):
        await bench.retry("job_none")


async def test_the_failures_of_a_job_that_still_runs_can_be_retried(bench: Bench) -> None:
    job = await bench.job(f"{SITE}/1", f"{SITE}/2")
    worker = await bench.worker()
    one, two = await worker.lease_and_take()
    await worker.flush(failed(one))
    assert await bench.retry(job) == 1
    await worker.flush(fetched(two))
    assert (await bench.counts(job)).state == "running"
    await worker.flush(*[fetched(v) for v in await worker.take()])
    counts = await bench.counts(job)
    assert (counts.state, counts.done, counts.failed) == ("succeeded", 2, 0)
    assert await bench.violations() == []


async def test_the_failures_of_a_cancelled_job_can_be_retried(bench: Bench) -> None:
    job = await bench.job(f"{SITE}/1", f"{SITE}/2")
    worker = await bench.worker()
    one, _two = await worker.lease_and_take()
    await worker.flush(failed(one))
    await bench.cancel(job)
    assert await bench.retry(job) == 1
    await worker.flush(*[fetched(v) for v in await worker.take()])
    counts = await bench.counts(job)
    assert (counts.state, counts.done, counts.cancelled) == ("cancelled", 1, 1)
    assert (await bench.events(job)).count("job_finished") == 2
    assert await bench.violations() == []


async def test_a_retry_wakes_a_parked_source(bench: Bench) -> None:
    job, worker = await half_failed(bench)
    [source_id] = worker.leases
    await worker.release(source_id, looks=4)
    assert (await bench.source("site.example")).ready_at is None
    await bench.retry(job)
    source = await bench.source("site.example")
    assert (source.ready_at, source.band) == (bench.time(), 2)


async def test_a_page_that_moved_before_it_failed_starts_again_where_it_began(bench: Bench) -> None:
    job = await bench.job(f"{SITE}/page")
    worker = await bench.worker()
    [visit] = await worker.lease_and_take()
    await worker.flush(moved(visit, "https://other.example/x", at=bench.time()))
    await worker.lease()
    [there] = await worker.take()
    await worker.flush(failed(there))
    await bench.retry(job)
    [back] = await worker.take()
    assert (back.url, back.hops, back.source_id) == (f"{SITE}/page", 0, visit.source_id)
