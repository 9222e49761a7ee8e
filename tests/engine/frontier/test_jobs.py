"""What a flush promises about the jobs that wait for its pages."""

import orjson
import pytest

from support.frontier import LONG, Bench, failed, fetched, retried

PAGE = "https://site.example/page"


async def test_every_job_that_joined_a_page_is_counted_once(bench: Bench) -> None:
    jobs = [await bench.job(PAGE, f"https://site.example/own{i}") for i in range(5)]
    worker = await bench.worker()
    visits = await worker.lease_and_take()
    [shared] = [v for v in visits if v.url == PAGE]
    await worker.flush(fetched(shared))
    assert [(await bench.counts(job)).done for job in jobs] == [1] * 5
    await worker.flush(*[fetched(v) for v in visits if v is not shared])
    assert {(await bench.counts(job)).state for job in jobs} == {"succeeded"}
    assert await bench.violations() == []


async def test_a_job_tells_its_whole_story_in_order(bench: Bench) -> None:
    job = await bench.job(PAGE, "https://site.example/b", "https://site.example/c")
    worker = await bench.worker()
    one, two, three = await worker.lease_and_take()
    await worker.flush(retried(one, again_at=bench.time()))
    await worker.flush(fetched(two), failed(three))
    [one] = await worker.take()
    await worker.flush(fetched(one))
    assert await bench.events(job) == [
        "job_queued", "job_started", "page_retried", "page_fetched", "page_failed",
        "page_fetched", "job_finished",
    ]  # fmt: skip
    assert (await bench.row("SELECT last_event FROM jobs")).last_event == 7


@pytest.mark.parametrize(
    ("failures", "state"),
    [(0, "succeeded"), (1, "partial"), (3, "partial"), (4, "failed"), (10, "failed")],
)
async def test_a_job_is_partial_up_to_thirty_percent_of_failures(
    bench: Bench, failures: int, state: str
) -> None:
    job = await bench.job(*(f"https://site.example/{i}" for i in range(10)))
    worker = await bench.worker()
    visits = await worker.lease_and_take()
    results = [failed(v) if i < failures else fetched(v) for i, v in enumerate(visits)]
    await worker.flush(*results[5:])
    assert (await bench.counts(job)).state == "running"
    await worker.flush(*results[:5])
    counts = await bench.counts(job)
    assert (counts.state, counts.done, counts.failed) == (state, 10 - failures, failures)
    assert (await bench.events(job)).count("job_finished") == 1


async def test_the_last_event_of_a_job_says_how_it_ended(bench: Bench) -> None:
    job = await bench.job(PAGE)
    worker = await bench.worker()
    await worker.flush(*[failed(v) for v in await worker.lease_and_take()])
    last = await bench.row("SELECT name, data FROM events ORDER BY n DESC LIMIT 1")
    assert last.name == "job_finished"
    assert orjson.loads(last.data) == {
        "round": 1,
        "job": ["failed", 0, 1, 0, 1],
    }
    assert (await bench.counts(job)).state == "failed"


async def test_a_job_that_ends_with_its_first_flush_started_when_its_first_request_did(
    bench: Bench,
) -> None:
    await bench.submit(PAGE, "https://site.example/b")
    worker = await bench.worker()
    one, two = await worker.lease_and_take()
    now = bench.time.moves(1_000)
    await worker.flush(fetched(two, at=now - 300), fetched(one, at=now - 600))
    job = await bench.row("SELECT started_at, finished_at FROM jobs")
    assert (job.started_at, job.finished_at) == (now - 605, now)


async def test_a_job_that_joins_a_request_starts_no_earlier_than_it_exists(bench: Bench) -> None:
    await bench.submit(PAGE)
    worker = await bench.worker()
    [visit] = await worker.lease_and_take()
    created = bench.time.moves(1_000)
    await bench.submit(PAGE)
    ended = bench.time.moves(1_000)
    await worker.flush(fetched(visit, at=created - 500))
    first, joined = await bench.rows("SELECT * FROM jobs ORDER BY id")
    assert (first.started_at, first.finished_at) == (created - 505, ended)
    assert (joined.created_at, joined.started_at, joined.finished_at) == (created, created, ended)


async def test_a_job_knows_when_it_started_and_finished(bench: Bench) -> None:
    await bench.submit(PAGE, "https://site.example/b")
    worker = await bench.worker()
    one, two = await worker.lease_and_take()
    began = bench.time.moves(1_000)
    await worker.flush_batch(worker.batch(started=[one.page_id]))
    bench.time.moves(1_000)
    await worker.flush(fetched(one))
    ended = bench.time.moves(1_000)
    await worker.flush(fetched(two))
    job = await bench.row("SELECT started_at, finished_at FROM jobs")
    assert (job.started_at, job.finished_at) == (began, ended)


async def test_a_job_half_from_the_cache_ends_with_its_last_fetched_page(bench: Bench) -> None:
    await bench.submit(PAGE)
    worker = await bench.worker()
    await worker.flush(*[fetched(v, at=bench.time()) for v in await worker.lease_and_take()])
    job = await bench.job(PAGE, "https://site.example/b", max_age=LONG)
    await worker.flush(*[fetched(v) for v in await worker.take()])
    counts = await bench.counts(job)
    assert (counts.state, counts.done) == ("succeeded", 2)
    assert await bench.violations() == []


async def test_a_job_that_joins_a_page_under_way_is_started_by_its_result(bench: Bench) -> None:
    await bench.submit(PAGE)
    worker = await bench.worker()
    [visit] = await worker.lease_and_take()
    await worker.flush_batch(worker.batch(started=[visit.page_id]))
    joined = await bench.job(PAGE, "https://site.example/b")
    assert (await bench.counts(joined)).state == "queued"
    await worker.flush(fetched(visit))
    counts = await bench.counts(joined)
    assert (counts.state, counts.done) == ("running", 1)
