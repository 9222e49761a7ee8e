"""To look at the queue costs the same however much waits, and whatever has happened before."""

import shutil
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from curtsy.model.job_states import Band
from curtsy.reports.queue import QueueReport, queue_report
from curtsy.store import Connection, Statement, Store
from support.explaining import explained
from support.sql import run, text

NOW = 1_800_000_000_000
BACKLOG = 120_000
SOURCES = 2_000
FILL = (
    """
    INSERT INTO sources (name, band, ready_at, created_at)
    WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < :sources)
    SELECT 's' || n, CASE WHEN n = 78 THEN 1 ELSE 2 END, CAST(:now AS bigint) - n, 1 FROM n
    """,
    """
    INSERT INTO visits (page_id, source_id, priority, rank, due_at, turn, created_at)
    WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < :backlog)
    SELECT n, CASE WHEN n % 2 = 0 THEN 1 ELSE 1 + n % :sources END, 5, n,
           CASE WHEN n % 50 = 7 THEN CAST(:now AS bigint) + n END, 1, CAST(:now AS bigint) - n
    FROM n
    """,
    """
    UPDATE visits SET priority = 2
    WHERE page_id = (SELECT max(page_id) FROM visits WHERE source_id = 78)
    """,
    """
    INSERT INTO events (job_id, n, at, name, page_id, data)
    WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < :backlog)
    SELECT 1, n, CAST(:now AS bigint) - :backlog + n, 'page_fetched', n,
           CASE WHEN n > 0 THEN '{{"ms": 12, "status": 200}}' END
    FROM n
    """,
)


async def fill(store: Store, backlog: int) -> None:
    for sql in FILL:
        names = {"now": NOW, "backlog": backlog, "sources": SOURCES}
        values = {name: value for name, value in names.items() if f":{name}" in sql}
        statement = Statement(sql)
        await store.write(lambda c, s=statement, v=values: s(c, **v) and None)
    await store.write(lambda c: run(c, text("ANALYZE")) and None)


def is_right(report: QueueReport) -> None:
    high, medium, low = (report.bands[band] for band in Band)
    assert (high.waiting, high.capped) == (1, False)
    assert medium.waiting > 5_000
    assert medium.capped
    assert low.waiting == 0
    assert report.throughput.latency == (12, 12, 12)


async def test_postgres_reads_no_table_from_end_to_end(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Store(postgres_url) as store:
        await fill(store, BACKLOG)
        with explained(monkeypatch) as plans:
            report = await store.write(lambda c: queue_report(c, now=NOW))
    is_right(report)
    assert plans.scanned == set()
    assert plans.buffers <= 12_000
    assert len(plans.seen) <= 16, "a fixed number of statements"


async def test_sqlite_takes_no_more_steps_for_six_times_as_much(
    sqlite_template: Path, tmp_path: Path
) -> None:
    """Steps of its virtual machine, not milliseconds: the same on a busy machine."""
    taken = []
    for backlog in (BACKLOG // 6, BACKLOG):
        path = shutil.copy(sqlite_template, tmp_path / f"{backlog}.db")
        async with Store(f"sqlite:///{path}") as store:
            await fill(store, backlog)
            report, steps = await store.read(counted)
        is_right(report)
        taken.append(steps)
    assert taken[1] <= taken[0] * 1.1


def counted(connection: Connection) -> tuple[QueueReport, int]:
    """The report, and how many hundred steps it took."""
    raw: Any = connection.raw
    hundreds = count()
    raw.set_progress_handler(lambda: next(hundreds) < 0, 100)
    try:
        return queue_report(connection, now=NOW), next(hundreds)
    finally:
        raw.set_progress_handler(None, 0)
