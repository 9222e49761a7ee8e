"""How a job went: duration, retries, peak memory and failures, of a bounded number of pages."""

from dataclasses import replace

import pytest

from curtsy.jobs import performance
from curtsy.jobs.job import read_jobs
from curtsy.jobs.performance import Performance, read_performance
from curtsy.model.failure_kinds import Kind
from curtsy.model.outcome import Failed
from support.frontier import Bench, failed, fetched, retried


async def of(bench: Bench, job: str) -> Performance:
    now = bench.time()
    return await bench.store.read(
        lambda c: read_performance(c, read_jobs(c, [job])[job], now=now)
    )  # fmt: skip


async def test_a_job_that_has_not_started_took_nothing(bench: Bench) -> None:
    found = await of(bench, await bench.job("https://a.example/"))
    assert found == Performance(None, 0, 0, None, None, is_capped=False, failures=[])


async def test_retries_memory_and_failures_are_those_of_its_pages(bench: Bench) -> None:
    job = await bench.job("https://a.example/1", "https://b.example/2")
    await bench.job("https://c.example/of-another-job")
    worker = await bench.worker()
    one, two, other = sorted(await worker.lease_and_take(), key=lambda visit: visit.url)
    at = bench.time()
    fallen = Failed(Kind.EXTRACT_FAILED, "It fell.", traceback="Traceback: x", memory=77)
    await worker.flush(
        replace(retried(one, at=at, again_at=at + 1_000), started_at=at - 300),
        replace(failed(two, at=at), outcome=fallen),
        fetched(other, at=at),
    )
    bench.time.moves(1_000)
    [one] = await worker.lease_and_take()
    await worker.flush(fetched(one, at=bench.time()))
    bench.time.moves(60_000)
    found = await of(bench, job)
    assert (found.attempts, found.retries, found.longest_attempt) == (3, 1, 300)
    assert found.duration is not None
    assert found.duration < 60_000, "it has ended"
    assert found.peak_memory == 77
    assert [(one.kind, one.traceback, one.attempt) for one in found.failures] == [
        ("extract_failed", "Traceback: x", 1), ("timeout", None, 1),
    ]  # fmt: skip


async def test_what_happened_before_and_after_the_job_is_not_its_own(bench: Bench) -> None:
    worker = await bench.worker()
    jobs = []
    for _ in range(3):
        jobs.append(await bench.job("https://a.example/"))
        [visit] = await worker.lease_and_take()
        await worker.flush(failed(visit, Kind.TIMEOUT, at=bench.time()))
        bench.time.moves(10_000)
    assert [(await of(bench, job)).attempts for job in jobs] == [1, 1, 1]


async def test_of_a_large_job_the_first_pages_are_read(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(performance, "MOST_PAGES", 2)
    monkeypatch.setattr(performance, "MOST_FAILURES", 1)
    job = await bench.job(*(f"https://{n}.example/" for n in range(3)))
    worker = await bench.worker()
    await worker.flush(*(failed(visit, at=bench.time()) for visit in await worker.lease_and_take()))
    found = await of(bench, job)
    assert (found.attempts, found.is_capped, len(found.failures)) == (2, True, 1)
