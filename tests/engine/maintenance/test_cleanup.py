"""Cleanup deletes what is older than RESULT_DAYS, and nothing that a kept job needs."""

from collections.abc import Callable
from typing import Any

import asyncpg
import pytest

from curtsy.clock import DAY, HOUR
from curtsy.frontier import retention
from curtsy.jobs import purge
from curtsy.maintenance.cleanup import Cleanup
from curtsy.maintenance.work_share import LONGEST_REST_SECONDS, WorkShare
from curtsy.model.failure_kinds import Kind
from curtsy.store import Store
from support.frontier import LONG, Bench, ScriptedWorker, failed, fetched
from support.sql import statements_ran

EVENT = "INSERT INTO events (job_id, n, at, name) VALUES (1, :n, 1, 'log')"
NOTHING = "Deleted 0 jobs older than 30 days, and 0 records that no site has had for as long."
A, B, C = "http://a.example/1", "http://b.example/1", "http://c.example/1"


async def cleanup(bench: Bench, days: int = 30) -> str:
    return await Cleanup(store=bench.store, clock=bench.clock, keep_days=days).run()


async def fetch_all(bench: Bench, worker: ScriptedWorker, content: str = "x", **more: Any) -> None:
    """Fetches what waits, and gives the sources back."""
    now = bench.time()
    visits = await worker.lease_and_take()
    await worker.flush(*[fetched(visit, content, at=now, **more) for visit in visits])
    for source in list(worker.leases):
        await worker.release(source)
    worker.leases.clear()


async def numbers(bench: Bench, *tables: str) -> list[int]:
    return [(await bench.row(f"SELECT count(*) AS n FROM {table}")).n for table in tables]


async def test_old_versions_go_that_no_job_has(bench: Bench) -> None:
    worker = await bench.worker()
    kept = []
    for content in ("one", "two", "three"):
        kept.append(await bench.job(A))
        await fetch_all(bench, worker, content)
        bench.time.moves(20 * DAY)
    # By now "one" was followed 40 days ago, and its job is 60 days old; that of "two" has 40 days.
    told = await cleanup(bench)
    assert told.startswith("Deleted 2 jobs older than 30 days")
    assert "1 old version" in told
    versions = await bench.rows("SELECT version FROM documents ORDER BY version")
    assert [row.version for row in versions] == [2, 3], "the second was followed 20 days ago"
    assert await bench.violations() == []


async def test_a_version_stays_as_long_as_a_job_has_it_however_old(bench: Bench) -> None:
    """Such as the first result of a job whose last page takes months."""
    worker = await bench.worker()
    long = await bench.job(A, B)
    visits = await worker.lease_and_take()
    await worker.flush(*[fetched(v, "one", at=bench.time()) for v in visits if v.url == A])
    for source in list(worker.leases):
        await worker.release(source, more=True)
    worker.leases.clear()
    for content in ("two", "three"):
        bench.time.moves(40 * DAY)
        await bench.job(A)
        for visit in await worker.lease_and_take():
            if visit.url == A:
                await worker.flush(fetched(visit, content, at=bench.time()))
        for source in list(worker.leases):
            await worker.release(source, more=True)
        worker.leases.clear()
    bench.time.moves(40 * DAY)
    assert "1 old version" in await cleanup(bench)
    versions = await bench.rows("SELECT version FROM documents ORDER BY version")
    assert [row.version for row in versions] == [1, 3]
    [item, _waits] = await bench.items(long)
    assert item.document_version == 1
    assert await bench.violations() == []


@pytest.mark.parametrize("size", [1, 3])
async def test_the_items_of_all_jobs_are_looked_at_also_of_large_ones(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(retention, "SLICE", size)
    worker = await bench.worker()
    urls = [f"http://a.example/{n}" for n in range(7)]
    jobs = [await bench.job(*urls)]
    await fetch_all(bench, worker, "one")
    for content in ("two", "three"):
        bench.time.moves(40 * DAY)
        jobs.append(await bench.job(*urls[:5]))
        await fetch_all(bench, worker, content)
    await bench.execute("UPDATE jobs SET finished_at = :now", now=bench.time())
    bench.time.moves(10 * DAY)
    await cleanup(bench)
    assert await numbers(bench, "jobs", "documents") == [3, 17]
    assert await bench.violations() == []


async def test_old_attempts_go_and_the_last_one_of_a_page_stays(bench: Bench) -> None:
    worker = await bench.worker()
    for _ in range(4):
        job = await bench.job(A)
        await fetch_all(bench, worker)
        bench.time.moves(10 * DAY)
    bench.time.moves(25 * DAY)
    await bench.job(A, max_age=LONG)
    told = await cleanup(bench)
    assert "3 old attempts" in told
    [left] = await bench.rows("SELECT a.turn, p.turn AS last FROM attempts a JOIN pages p "
                              "ON p.id = a.page_id")  # fmt: skip
    assert left.turn == left.last
    assert job


async def test_settled_letters_go_and_open_ones_stay(bench: Bench) -> None:
    worker = await bench.worker()
    job = await bench.job(A, B)
    for visit in await worker.lease_and_take():
        await worker.flush(failed(visit, Kind.TIMEOUT, at=bench.time()))
    await bench.retry_letters(source="a.example")
    for source in list(worker.leases):
        await worker.release(source)
    worker.leases.clear()
    await fetch_all(bench, worker)
    bench.time.moves(29 * DAY)
    await bench.execute("UPDATE jobs SET created_at = :now, finished_at = :now", now=bench.time())
    await cleanup(bench)
    assert await numbers(bench, "dead_letters") == [2]
    bench.time.moves(2 * DAY)
    assert "1 settled dead letter" in await cleanup(bench)
    [left] = await bench.rows("SELECT state FROM dead_letters")
    assert left.state == "open"
    assert job


async def test_letters_of_a_page_that_has_an_open_one_stay(bench: Bench) -> None:
    """They count how often it was retried by itself."""
    await bench.job(A)
    for turn, state in ((1, "retried"), (2, "open")):
        await bench.execute(
            "INSERT INTO dead_letters (page_id, turn, source_id, kind, family, error, attempts, "
            "state, created_at) SELECT id, :turn, 1, 'timeout', 'network', '', 1, :state, 1 "
            "FROM pages", turn=turn, state=state,
        )  # fmt: skip
    await cleanup(bench)
    assert await numbers(bench, "dead_letters") == [2]


async def a_used_host(bench: Bench, worker: ScriptedWorker, url: str) -> None:
    """With a receipt of today, and a source that is asleep."""
    await bench.job(url)
    await fetch_all(bench, worker)
    await bench.execute("UPDATE sources SET ready_at = NULL WHERE owner IS NULL")


async def test_hosts_without_pages_go_with_their_sources(bench: Bench) -> None:
    worker = await bench.worker()
    await a_used_host(bench, worker, A)
    bench.time.moves(20 * DAY)
    await a_used_host(bench, worker, B)
    bench.time.moves(15 * DAY)
    assert "1 unused host" in await cleanup(bench)
    assert [row.host for row in await bench.rows("SELECT host FROM hosts")] == ["b.example"]
    assert [row.name for row in await bench.rows("SELECT name FROM sources")] == ["b.example"]
    await a_used_host(bench, worker, A)
    assert await numbers(bench, "hosts", "sources") == [2, 2], "it is made again when needed"
    assert await bench.violations() == []


KEEPERS: dict[str, str] = {
    "described": "UPDATE sources SET described = true",
    "paused": "UPDATE sources SET paused = true",
    "with work": "UPDATE sources SET ready_at = 1",
    "owned": "UPDATE sources SET owner = 'w9'",
    "with an open letter": "INSERT INTO dead_letters (page_id, turn, source_id, kind, family, "
    "error, attempts, created_at) VALUES (99, 1, 1, 'gone', '', '', 1, 1)",
    "asked of late": "INSERT INTO receipts (source_id, day) VALUES (1, :day)",
}


@pytest.mark.parametrize("keeper", KEEPERS)
async def test_a_source_stays_that_somebody_needs(bench: Bench, keeper: str) -> None:
    worker = await bench.worker()
    await a_used_host(bench, worker, A)
    bench.time.moves(35 * DAY)
    sql = KEEPERS[keeper]
    await bench.execute(sql, **({"day": bench.time() // DAY} if ":day" in sql else {}))
    assert "host" not in await cleanup(bench)
    assert await numbers(bench, "hosts", "sources") == [1, 1]


async def test_a_host_that_gets_a_page_while_cleanup_looks_stays(bench: Bench) -> None:
    """After the pages were read, before its source is deleted."""
    worker = await bench.worker()
    await a_used_host(bench, worker, A)
    bench.time.moves(35 * DAY)
    tried = Cleanup(store=bench.store, clock=bench.clock, keep_days=30,
                    share=Interrupted(bench, lambda: a_used_host(bench, worker, A)))  # fmt: skip
    await tried.run()
    assert await numbers(bench, "hosts", "sources", "pages") == [1, 1, 1]
    assert await bench.violations() == []


class Interrupted(WorkShare):
    """Does something else once, before the transaction that deletes hosts."""

    def __init__(self, bench: Bench, between: Callable[[], Any]) -> None:
        super().__init__(bench.store)
        self._between: Callable[[], Any] | None = between

    async def write(self, work: Any) -> Any:
        if work.func.__name__ == "delete_hosts" and self._between is not None:
            between, self._between = self._between, None
            await between()
        return await super().write(work)


async def test_a_backup_that_reads_the_hosts_for_hours_does_not_stop_cleanup(
    postgres_url: str,
) -> None:
    async with Store(postgres_url) as store:
        bench = Bench(store)
        worker = await bench.worker()
        await a_used_host(bench, worker, A)
        bench.time.moves(35 * DAY)
        backup = await asyncpg.connect(postgres_url)
        async with backup.transaction():
            await backup.execute("LOCK TABLE hosts IN ACCESS SHARE MODE")
            assert (await cleanup(bench)).startswith("Deleted 1 job")
            assert await numbers(bench, "hosts") == [1]
        await backup.close()
        assert "1 unused host" in await cleanup(bench)


async def test_old_receipts_go(bench: Bench) -> None:
    today = bench.time() // DAY
    await bench.job(A)
    for day in (today, today - 29, today - 31, today - 400):
        await bench.execute("INSERT INTO receipts (source_id, day) VALUES (1, :d)", d=day)
    await cleanup(bench)
    left = await bench.rows("SELECT day FROM receipts ORDER BY day DESC")
    assert [row.day for row in left] == [today, today - 29]


async def test_pages_that_no_job_has_go(bench: Bench) -> None:
    worker = await bench.worker()
    await bench.job(A, B)
    await fetch_all(bench, worker)
    await bench.execute("UPDATE pages SET reference_count = 0 WHERE url = :url", url=A)
    await bench.execute("DELETE FROM items WHERE page_id = (SELECT id FROM pages WHERE url = :url)",
                        url=A)  # fmt: skip
    assert "1 page" in await cleanup(bench)
    assert await numbers(bench, "pages", "documents", "attempts") == [1, 1, 1]


async def test_many_small_jobs_go_together_and_a_large_one_in_parts(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(purge, "BATCH", 10)
    worker = await bench.worker()
    for n in range(12):
        await bench.job(f"http://a.example/s{n}")
    await bench.job(*[f"http://a.example/l{n}" for n in range(25)])
    young = await bench.job("http://a.example/s0", "http://a.example/l0")
    await fetch_all(bench, worker)
    bench.time.moves(31 * DAY)
    await bench.execute("UPDATE jobs SET finished_at = :now WHERE public_id = :job", job=young,
                        now=bench.time())  # fmt: skip
    with statements_ran("DELETE FROM items") as batches:
        assert (await cleanup(bench)).startswith("Deleted 13 jobs")
    assert len(batches) == 2 + 3
    assert await numbers(bench, "jobs", "items", "pages", "events", "attempts") == [1, 2, 2, 5, 2]
    assert await bench.violations() == []


async def test_a_job_of_many_events_goes_in_parts(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(purge, "BATCH", 10)
    worker = await bench.worker()
    job = await bench.job(A)
    await fetch_all(bench, worker)
    for n in range(10, 60):
        await bench.execute(
            "INSERT INTO events (job_id, n, at, name) VALUES (1, :n, 1, 'log')", n=n
        )
    bench.time.moves(31 * DAY)
    with statements_ran("DELETE FROM events") as batches:
        await cleanup(bench)
    assert len(batches) >= 5
    assert await numbers(bench, "jobs", "events", "pages") == [0, 0, 0]
    assert job


async def test_jobs_that_stay_are_read_once(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cleanup goes on behind them, however many there are."""
    monkeypatch.setattr("curtsy.maintenance.cleanup.JOBS_AT_ONCE", 2)
    worker = await bench.worker()
    for n in range(9):
        await bench.job(f"http://a.example/{n}")
        bench.time.moves(HOUR)
    await fetch_all(bench, worker)
    bench.time.moves(31 * DAY)
    await bench.job("http://a.example/new")
    assert (await cleanup(bench)).startswith("Deleted 9 jobs")


async def test_a_second_cleanup_finds_nothing(bench: Bench) -> None:
    worker = await bench.worker()
    await bench.job(A, B, C)
    await fetch_all(bench, worker)
    bench.time.moves(31 * DAY)
    await cleanup(bench)
    before = await bench.dump()
    assert await cleanup(bench) == NOTHING
    assert await bench.dump() == before


async def test_beside_workers_it_takes_a_small_share_of_the_time(bench: Bench) -> None:
    rests: list[float] = []
    seconds = iter(float(n) for n in range(10_000))

    async def rest(span: float) -> None:
        rests.append(span)

    share = WorkShare(bench.store, seconds=lambda: next(seconds), sleep=rest)
    await share.read(lambda c: None)
    assert rests == [], "nobody is at work"
    await bench.worker()
    for _ in range(3):
        await share.read(lambda c: None)
    assert set(rests) == {LONGEST_REST_SECONDS}, "each step took a second of this clock"
    brief = WorkShare(bench.store, seconds=lambda: next(seconds) / 1_000, sleep=rest)
    await brief.read(lambda c: None)
    assert rests[-1] == pytest.approx(0.009), "nine times as long as the step took"
