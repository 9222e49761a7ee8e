"""What a list of jobs and a job's status cost, with so many jobs in the store."""

import time
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any

import uvloop

from bench.children import contestant
from bench.setting_up import execute, opened
from curtsy.jobs.job import read_jobs
from curtsy.jobs.listing import FIRST, JobFilter, list_jobs
from curtsy.model.status_words import FILTERS
from curtsy.store import Connection, Statement, Store

PAGE = """
    INSERT INTO pages (id, fingerprint, url, host, scraper, created_at)
    VALUES (1, 'f', 'http://a.example/', 'a.example', 'article', 1)
"""
JOBS = """
    INSERT INTO jobs (public_id, door, scraper, state, total, done, created_at, updated_at)
    WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < :jobs)
    SELECT 'job_' || n, 'articles', 'article',
           CASE n % 7 WHEN 0 THEN 'failed' WHEN 1 THEN 'running' ELSE 'succeeded' END,
           1, CASE n % 7 WHEN 0 THEN 0 ELSE 1 END, n, n FROM n
"""
ITEMS = """
    INSERT INTO items (job_id, position, page_id, state, priority, ended_at)
    SELECT id, 0, 1, 1, 5, 1 FROM jobs
"""
SAMPLES = 200


async def run(database: str, jobs: int) -> dict[str, Any]:
    async with opened(database) as (store, _clock):
        for statement in (PAGE, JOBS, ITEMS, "ANALYZE"):
            sql = Statement(statement)
            values = {"jobs": jobs} if ":jobs" in statement else {}
            await store.write(partial(execute, sql, values))
        return {
            "list": await _milliseconds(store, lambda _n: _listing(None)),
            "filtered": await _milliseconds(store, lambda _n: _listing("COMPLETED")),
            "status": await _milliseconds(
                store, lambda n: lambda c: read_jobs(c, [f"job_{n % jobs + 1}"])
            ),
        }


def _listing(word: str | None) -> Callable[[Connection], Any]:
    wanted = FILTERS[word] if word else None
    return lambda c: list_jobs(c, JobFilter(status=wanted), after=FIRST, limit=50, skip=0)


async def _milliseconds(store: Store, query: Callable[[int], Callable[[Connection], Any]]) -> float:
    spent = []
    for n in range(SAMPLES):
        began = time.perf_counter()
        await store.read(query(n * 7919))
        spent.append(time.perf_counter() - began)
    return median(spent) * 1000


def measure(**options: Any) -> dict[str, Any]:
    return uvloop.run(run(**options))


if __name__ == "__main__":
    contestant(measure)
