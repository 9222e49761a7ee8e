"""Each step of a cleanup reads what it deletes, or its slice, and no more."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

import pytest

from curtsy.clock import DAY, Clock
from curtsy.frontier import idle_hosts, retention
from curtsy.frontier.retention import Slice
from curtsy.jobs.purge import purge_batch
from curtsy.store import Store
from support.engine import Engine, engine
from support.explaining import QueryPlans, explained

PAGES, ITEMS, SOURCES, LETTERS = 40_000, 100, 20_000, 40_000
NUMBERS = "WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {})"
OLD, NOW = 1, 400 * DAY
MAKE = (
    f"""INSERT INTO jobs (public_id, door, scraper, state, total, done, created_at, updated_at,
                          finished_at)
        {NUMBERS.format(PAGES // ITEMS)} SELECT 'j' || n, 'fetch', 'raw', 'succeeded', {ITEMS},
        {ITEMS}, 1, 1, 1 FROM n""",
    f"""INSERT INTO pages (fingerprint, url, host, scraper, reference_count, turn,
                           document_version, created_at)
        {NUMBERS.format(PAGES)} SELECT 'f' || n, 'http://h' || n % {SOURCES} || '/' || n,
        'h' || n % {SOURCES}, 'raw', 1, 2, 2, 1 FROM n""",
    f"""INSERT INTO items (job_id, position, page_id, state, priority, document_version, ended_at)
        {NUMBERS.format(PAGES)} SELECT 1 + (n - 1) / {ITEMS}, (n - 1) % {ITEMS}, n, 1, 5, 2, 1
        FROM n""",
    *(f"""INSERT INTO documents (page_id, version, content, hash, content_type, status, url, bytes,
                                 fetched_at)
          {NUMBERS.format(PAGES)} SELECT n, {version}, '', '', '', 200, '', 1, {version} FROM n"""
      for version in (1, 2)),
    *(f"""INSERT INTO attempts (page_id, turn, source_id, worker, attempt, outcome, started_at,
                                ended_at)
          {NUMBERS.format(PAGES)} SELECT n, {turn}, 1, 'w', 0, 'fetched', 1, 1 FROM n"""
      for turn in (1, 2)),
    f"""INSERT INTO events (job_id, n, at, name)
        {NUMBERS.format(PAGES)} SELECT 1 + (n - 1) / {ITEMS}, 1 + (n - 1) % {ITEMS}, 1, 'page'
        FROM n""",
    f"""INSERT INTO sources (name, created_at) {NUMBERS.format(SOURCES)} SELECT 'h' || n, 1 FROM n
    """,
    f"""INSERT INTO hosts (host, source_id, created_at)
        {NUMBERS.format(SOURCES)} SELECT 'h' || n, n, 1 FROM n""",
    f"""INSERT INTO receipts (source_id, day)
        {NUMBERS.format(SOURCES * 2)} SELECT 1 + n % {SOURCES}, n / {SOURCES} FROM n""",
    f"""INSERT INTO dead_letters (page_id, turn, source_id, kind, family, error, attempts, state,
                                  created_at)
        {NUMBERS.format(LETTERS)} SELECT n, 1, 1, 'timeout', 'network', url, 4, 'resolved', 1
        FROM n JOIN pages ON pages.id = n""",
    f"""INSERT INTO visits (page_id, source_id, priority, rank, turn, created_at)
        {NUMBERS.format(PAGES)} SELECT 1000000 + n, 1 + n % 100, 5, n, 1, 1 FROM n""",
)  # fmt: skip
UNUSED = range(7_000, 7_040)
SLICE = Slice(20_000, 21_000)
STEPS: dict[str, tuple[Callable[..., Any], int]] = {
    # with the buffers that each may read on PostgreSQL
    "purge": (partial(purge_batch, jobs=[3, 5, 7]), 300 * 100),
    "pages": (partial(retention.next_pages, after=20_000), 1_500),
    "unreferenced": (partial(retention.delete_unreferenced, pages=SLICE), 1_500),
    "attempts": (partial(retention.delete_attempts, pages=SLICE, before=NOW), 10_000),
    "superseded": (partial(retention.superseded, pages=SLICE, before=NOW), 15_000),
    "versions of jobs": (
        partial(retention.versions_of, items=retention.ItemRange(Slice(3, 13))), 1_500
    ),
    "versions of a part": (
        partial(retention.versions_of, items=retention.ItemRange(Slice(3, 4), 0)), 500
    ),
    "versions": (
        partial(retention.delete_versions, versions=[(n, 1) for n in range(1, 400)]), 400 * 20
    ),
    "letters": (
        partial(retention.delete_settled_letters, state="resolved", after=100, before=NOW),
        retention.BATCH * 40,
    ),
    "sources": (partial(retention.next_sources, after=2_000), 1_500),
    "receipts": (
        partial(retention.delete_receipts, sources=Slice(2_000, 3_000), before_day=1), 10_000
    ),
    "idle sources": (
        partial(idle_hosts.idle_sources, sources=Slice(2_000, 3_000), before=NOW, day=300), 30_000
    ),
    "hosts of pages": (partial(idle_hosts.hosts_of_pages, pages=SLICE), 1_500),
    "hosts": (
        partial(idle_hosts.delete_hosts, hosts=[f"h{n}" for n in UNUSED], before=NOW, day=300,
                sources=[idle_hosts.IdleSource(n, 0) for n in UNUSED]), len(UNUSED) * 100,
    ),
}  # fmt: skip


@pytest.fixture
async def crowded(store: Store, clock: Clock) -> Engine:
    return engine(store, clock)


async def filled(curtsy: Engine) -> None:
    for make in MAKE:
        await curtsy.execute(make)


def watching(monkeypatch: pytest.MonkeyPatch) -> AbstractContextManager[QueryPlans]:
    return explained(monkeypatch, also=("receipts", "sightings", "crawled", "links"))


@pytest.mark.parametrize("step", STEPS)
async def test_a_step_reads_its_slice_and_scans_no_table(
    crowded: Engine, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    work, most = STEPS[step]
    with watching(monkeypatch) as plans:
        await crowded.store.write(work)
    scans = {table for plan in plans.seen for table in plan.scanned}
    assert scans == set(), [plan.sql for plan in plans.seen if plan.scanned]
    assert plans.buffers <= most


async def test_the_number_of_statements_of_a_batch_does_not_grow_with_it(
    crowded: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    for jobs in ([1], [2, 3]):
        with watching(monkeypatch) as plans:
            assert (await crowded.store.write(partial(purge_batch, jobs=jobs))).is_done
        seen.append(len(plans.seen))
    assert seen[0] == seen[1] <= 24
