import asyncio

import pytest
from interleaving.holding import hold
from support.frontier import Bench, failed

from curtsy.submit import retry

A, B = "https://a.example/", "https://b.example/"


async def test_a_page_that_fails_while_its_jobs_failures_are_retried_is_not_lost(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = await bench.job(A, B)
    worker = await bench.worker()
    one, other = await worker.lease_and_take()
    await worker.flush(failed(one))
    held = hold(monkeypatch, retry, "_REOPEN_ITEMS")
    retrying = asyncio.create_task(bench.retry(job))
    await held.reached()
    await worker.flush(failed(other))
    held.let_go()
    await retrying
    assert await bench.violations() == []
