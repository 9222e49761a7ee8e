"""Cleanup reads what is old, with the runs and the records of many sites."""

import pytest

from curtsy.clock import Clock
from curtsy.jobs.purge import old_jobs
from curtsy.sites.retention import OldRecords, delete_records, deleted_runs, sites_with_old_records
from curtsy.store import Store
from support.engine import Engine, engine
from support.explaining import explained

SITES, RUNS, RECORDS = 100, 40_000, 100_000
OLD, YOUNG = 30, 1_000_000
"""So many runs and records of a site are old, by this moment; of the first, two runs were kept."""
NUMBERS = "WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {})"
MAKE_SITES = f"""
    INSERT INTO sites (name, declared, created_at, updated_at)
    {NUMBERS.format(SITES)} SELECT 'site' || n, '', 1, 1 FROM n
"""
AT = f"n + CASE WHEN n > {OLD * SITES} THEN {YOUNG} ELSE 0 END"
MAKE_RUNS = f"""
    INSERT INTO jobs (public_id, door, scraper, state, total, site_id, search, created_at,
                      updated_at, finished_at, gathered_at)
    {NUMBERS.format(RUNS)}
    SELECT 'run_' || n, 'runs', 'listing', 'succeeded', 1, 1 + n % {SITES}, 'a', {AT}, {AT},
           {AT}, {AT} FROM n WHERE n % {SITES} > 0 OR n <= {2 * SITES} OR n > {OLD * SITES}
"""
MAKE_RECORDS = f"""
    INSERT INTO records (site_id, key, data, hash, first_seen_at, last_seen_at, changed_at)
    {NUMBERS.format(RECORDS)} SELECT 1 + n % {SITES}, 'k' || n, '', '', 1, {AT}, 1 FROM n
"""
MAKE_SIGHTINGS = f"""
    INSERT INTO sightings (job_id, key, position, change, data)
    {NUMBERS.format(RUNS)} SELECT n, 'k' || (n + {RECORDS}), 0, 'same', '' FROM n
"""


@pytest.fixture
async def crowded(store: Store, clock: Clock) -> Engine:
    return engine(store, clock)


async def filled(curtsy: Engine) -> None:
    for make in (MAKE_SITES, MAKE_RUNS, MAKE_RECORDS, MAKE_SIGHTINGS):
        await curtsy.execute(make)


def watching(monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    return explained(monkeypatch, also=("records", "sightings"))


async def test_old_jobs_are_told_from_those_that_stay_by_an_index(
    crowded: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    with watching(monkeypatch) as plans:
        found = await crowded.store.write(lambda c: old_jobs(c, keep=1, now=YOUNG, most=100))
    assert [job.id for job in found] == list(range(1, 101))
    assert plans.scanned == set()
    assert plans.buffers <= 100 * 15


async def test_old_records_of_a_site_are_found_without_a_look_at_the_others(
    crowded: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    with watching(monkeypatch) as plans:
        found = await crowded.store.write(lambda c: sites_with_old_records(c, keep=RECORDS))
    assert len(found) == SITES
    assert plans.scanned == set()
    assert plans.buffers <= SITES * 30
    with watching(monkeypatch) as plans:
        assert await crowded.store.write(lambda c: delete_records(c, OldRecords(1, YOUNG))) == OLD
    assert plans.scanned == set()
    assert plans.buffers <= OLD * 25


async def test_runs_with_sightings_are_met_one_by_one(
    crowded: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    await crowded.execute("DELETE FROM jobs WHERE id = 700")
    with watching(monkeypatch) as plans:
        found = await crowded.store.write(lambda c: deleted_runs(c, 500))
    assert found == ([700], 1_500)
    assert plans.scanned == set()
    assert plans.buffers <= 1_000 * 10
