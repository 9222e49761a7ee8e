"""How long jars stay, and in which order whoever writes them takes locks."""

from dataclasses import replace
from typing import Any

import pytest

from curtsy.clock import DAY
from curtsy.frontier.cookie_jars import StoredJar, delete_old_jars
from curtsy.jobs.job_request import JobSession
from curtsy.jobs.purge import purge_some
from support.frontier import Bench, ScriptedWorker, fetched
from support.sql import statements_ran

PAGE = "https://a.example/1"
SCHEDULE = """
    INSERT INTO schedules (public_id, name, rule, payload, window_ms, created_at, updated_at)
    VALUES ('sch_1', 'nightly', '{}', '{}', 1, 1, 1)
"""
SITE = """
    INSERT INTO sites (name, declared, created_at, updated_at) VALUES ('shop', '{}', 1, 1)
"""


async def jars(bench: Bench) -> list[tuple[str, int]]:
    rows = await bench.rows("SELECT session, source_id FROM cookie_jars ORDER BY 1, 2")
    return [tuple(row) for row in rows]


async def delete_old(bench: Bench) -> int:
    return await bench.store.write(
        lambda c: delete_old_jars(c, before=bench.time() - 30 * DAY, most=100)
    )


async def in_session(
    bench: Bench, name: str, *, ends_with_job: bool = True, url: str = PAGE
) -> tuple[str, ScriptedWorker, Any]:
    """A job whose page a worker has fetched, but not stored: its batch has a jar."""
    job = await bench.job(url, session=JobSession(name, ends_with_job=ends_with_job))
    worker = await bench.worker(f"w_{name}")
    [visit] = await worker.lease_and_take()
    batch = worker.batch(fetched(visit))
    report = batch.reports[visit.source_id]
    jar = StoredJar(name, visit.source_id, "[]")
    batch.reports[visit.source_id] = replace(report, jars=(jar,))
    return job, worker, batch


async def test_the_jars_of_a_job_stay_until_the_job_is_deleted(bench: Bench) -> None:
    job, worker, batch = await in_session(bench, "job_one")
    await worker.flush_batch(batch)
    before = await jars(bench)
    assert len(before) == 2
    bench.time.moves(60 * DAY)
    assert await delete_old(bench) == 0, "a retry begins with the given cookies"
    assert await jars(bench) == before
    await bench.execute("DELETE FROM jobs WHERE public_id = :job", job=job)
    assert await delete_old(bench) == 2


async def test_the_jars_of_a_job_that_runs_for_long_stay(bench: Bench) -> None:
    await in_session(bench, "job_one")
    bench.time.moves(60 * DAY)
    assert await delete_old(bench) == 0
    assert await jars(bench) == [("job_one", 0)]


@pytest.mark.parametrize(
    ("name", "owner", "table"), [("schedule_1", SCHEDULE, "schedules"), ("site_1", SITE, "sites")]
)
async def test_the_jars_of_a_schedule_or_a_site_stay_as_long_as_it_exists(
    bench: Bench, name: str, owner: str, table: str
) -> None:
    await bench.execute(owner)
    _job, worker, batch = await in_session(bench, name, ends_with_job=False)
    await worker.flush_batch(batch)
    bench.time.moves(60 * DAY)
    assert await delete_old(bench) == 0
    await bench.execute(f"DELETE FROM {table}")
    assert await delete_old(bench) == 2
    assert await jars(bench) == []


async def test_a_flush_behind_the_purge_brings_no_jar_back(bench: Bench) -> None:
    job, worker, batch = await in_session(bench, "job_one")
    await bench.cancel(job)
    while not (await bench.store.write(lambda c: purge_some(c, job))).is_done:
        pass
    await worker.flush_batch(batch)
    assert await jars(bench) == []


async def test_a_session_that_outlives_its_jobs_needs_no_given_cookies(bench: Bench) -> None:
    _job, worker, batch = await in_session(bench, "schedule_1", ends_with_job=False)
    await bench.execute("DELETE FROM cookie_jars")
    await worker.flush_batch(batch)
    assert len(await jars(bench)) == 1


async def test_jars_are_written_behind_sources_pages_visits_and_items(bench: Bench) -> None:
    with statements_ran() as ran:
        _job, worker, batch = await in_session(bench, "job_one")
    assert _at(ran, "INSERT INTO cookie_jars") > _at(ran, "INSERT INTO items")
    with statements_ran() as ran:
        await worker.flush_batch(batch)
    assert _at(ran, "INSERT INTO cookie_jars") > _at(ran, "UPDATE items")


def _at(ran: list[str], what: str) -> int:
    [found] = [at for at, sql in enumerate(ran) if what in sql]
    return found
