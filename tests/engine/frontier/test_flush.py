"""What a flush promises about pages, visits, documents and attempts."""

from dataclasses import replace

from curtsy.frontier.take import Visit
from curtsy.model.failure_kinds import Kind
from curtsy.politeness.receipt import Receipt
from support.frontier import (
    LONG,
    Bench,
    ScriptedWorker,
    again,
    failed,
    fetched,
    moved,
    no_request,
    not_modified,
    rested,
    retried,
)

PAGE = "https://site.example/page"


async def taken(bench: Bench, *urls: str, **more: int) -> tuple[str, ScriptedWorker, list[Visit]]:
    """A job whose pages are all in one worker's hands."""
    job = await bench.job(*urls, **more)
    worker = await bench.worker()
    return job, worker, await worker.lease_and_take()


async def test_a_fetched_page_ends_its_item_with_its_document(bench: Bench) -> None:
    job, worker, [visit] = await taken(bench, PAGE)
    flushed = await worker.flush(fetched(visit, "text", at=bench.time() - 3, etag='"e"'))
    assert (flushed.recorded, flushed.dropped, flushed.lost_sources) == (1, 0, frozenset())
    [item] = await bench.items(job)
    assert (item.state, item.document_version, item.kind) == (1, 1, None)
    assert (item.fetched_at, item.ended_at) == (bench.time() - 3, bench.time())
    page = await bench.row("SELECT * FROM pages")
    assert (page.outcome, page.turn, page.etag, page.document_hash) == ("fetched", 1, '"e"', "text")
    assert bytes((await bench.row("SELECT content FROM documents")).content) == b"text"
    assert await bench.rows("SELECT * FROM visits") == []
    assert await bench.violations() == []


async def test_every_try_is_recorded_as_an_attempt(bench: Bench) -> None:
    _job, worker, [visit] = await taken(bench, PAGE)
    await worker.flush(retried(visit, again_at=bench.time()))
    [visit] = await worker.take()
    await worker.flush(fetched(visit))
    tries = await bench.rows("SELECT * FROM attempts ORDER BY turn")
    assert [(t.turn, t.attempt, t.outcome, t.kind) for t in tries] == [
        (1, 1, "failed", "timeout"), (2, 2, "fetched", None),
    ]  # fmt: skip
    assert {t.worker for t in tries} == {worker.name}


async def test_a_page_not_modified_ends_its_item_with_the_document_it_has(bench: Bench) -> None:
    _job, worker, [visit] = await taken(bench, PAGE)
    await worker.flush(fetched(visit, etag='"e"', at=bench.time()))
    bench.time.moves(60_000)
    job = await bench.job(PAGE)
    [visit] = await worker.take()
    await worker.flush(not_modified(visit, at=bench.time()))
    [item] = await bench.items(job)
    assert (item.state, item.document_version, item.fetched_at) == (1, 1, bench.time())
    page = await bench.row("SELECT * FROM pages")
    assert (page.outcome, page.etag, page.fetched_at) == ("not_modified", '"e"', bench.time())
    assert (await bench.submit(PAGE, max_age=10_000)).cached == 1
    assert await bench.violations() == []


async def test_a_document_gets_a_new_version_only_when_its_content_changes(bench: Bench) -> None:
    worker = await bench.worker()
    versions = []
    for content in ("one", "one", "two", "one"):
        job = await bench.job(PAGE)
        await worker.lease()
        await worker.flush(*[fetched(v, content) for v in await worker.take()])
        versions.append((await bench.items(job))[0].document_version)
    assert versions == [1, 1, 2, 3]
    documents = await bench.rows("SELECT version, hash FROM documents ORDER BY version")
    assert [tuple(d) for d in documents] == [(1, "one"), (2, "two"), (3, "one")]


async def test_a_failed_page_becomes_a_dead_letter(bench: Bench) -> None:
    job, worker, [visit] = await taken(bench, PAGE)
    await worker.flush(failed(visit, Kind.GONE))
    [item] = await bench.items(job)
    assert (item.state, item.kind, item.error) == (2, "gone", "It did not work.")
    assert (item.document_version, item.fetched_at) == (None, None)
    letter = await bench.row("SELECT * FROM dead_letters")
    assert (letter.kind, letter.family, letter.state, letter.attempts) == (
        "gone",
        "network",
        "open",
        1,
    )
    assert await bench.rows("SELECT * FROM visits") == []


async def test_a_failure_keeps_the_document_that_was_there(bench: Bench) -> None:
    _job, worker, [visit] = await taken(bench, PAGE)
    await worker.flush(fetched(visit, etag='"e"'))
    await bench.submit(PAGE)
    await worker.flush(*[failed(v) for v in await worker.take()])
    page = await bench.row("SELECT * FROM pages")
    assert (page.document_version, page.document_hash, page.etag) == (1, "hello", '"e"')
    assert (await bench.submit(PAGE, max_age=LONG)).cached == 0


async def test_a_retry_waits_with_a_spent_attempt_and_a_good_priority(bench: Bench) -> None:
    job, worker, [visit] = await taken(bench, PAGE, priority=8)
    await worker.flush(retried(visit, again_at=bench.time() + 4_000))
    row = await bench.row("SELECT * FROM visits")
    assert (row.turn, row.attempt, row.priority) == (visit.turn + 1, 1, 3)
    assert (row.due_at, row.rank) == (bench.time() + 4_000, visit.rank)
    assert (await bench.counts(job)).state == "running"
    assert await bench.events(job) == ["job_queued", "job_started", "page_retried"]
    assert await bench.rows("SELECT * FROM dead_letters") == []
    assert await bench.violations() == []


async def test_a_retry_keeps_a_priority_that_is_better_than_its_own(bench: Bench) -> None:
    _job, worker, [visit] = await taken(bench, PAGE, priority=2)
    await bench.submit(PAGE, priority=1)
    await worker.flush(retried(visit, again_at=bench.time()))
    assert (await bench.row("SELECT priority FROM visits")).priority == 1


async def test_a_resting_host_costs_the_page_no_attempt(bench: Bench) -> None:
    _job, worker, [visit] = await taken(bench, PAGE)
    for turn in range(1, 6):
        await worker.flush(rested(visit, at=bench.time()))
        [visit] = await worker.take()
        assert (visit.attempt, visit.turn) == (0, turn + 1)


async def test_a_page_moved_to_another_source_wakes_it_and_waits_there(bench: Bench) -> None:
    job, worker, [visit] = await taken(bench, PAGE, priority=2)
    await worker.flush(moved(visit, "https://other.example/there", at=bench.time()))
    target = await bench.source("other.example")
    assert (target.owner, target.ready_at, target.band) == (None, bench.time(), 1)
    other = await bench.worker("other")
    [there] = await other.lease_and_take()
    assert (there.url, there.hops, there.attempt) == ("https://other.example/there", 1, 0)
    await other.flush(fetched(there))
    assert (await bench.counts(job)).state == "succeeded"
    assert (await bench.row("SELECT url FROM pages")).url == PAGE
    assert await bench.violations() == []


async def test_a_page_moved_to_a_parked_source_wakes_it(bench: Bench) -> None:
    await bench.submit("https://other.example/")
    await bench.execute("UPDATE sources SET ready_at = NULL, band = 3")
    _job, worker, [visit] = await taken(bench, PAGE)
    await worker.flush(moved(visit, "https://other.example/there"))
    source = await bench.source("other.example")
    assert (source.ready_at, source.band) == (bench.time(), 2)


async def test_the_best_of_several_pages_moved_to_one_source_decides_its_band(bench: Bench) -> None:
    _job, worker, _visits = await taken(bench, "https://site.example/high", priority=1)
    await bench.submit("https://site.example/low", priority=9)
    high, low = await worker.take()
    to = "https://other.example"
    await worker.flush(moved(high, f"{to}/high"), moved(low, f"{to}/low"))
    assert (await bench.source("other.example")).band == 1


async def test_a_page_moved_within_its_own_source_goes_on_there(bench: Bench) -> None:
    _job, worker, [visit] = await taken(bench, PAGE)
    await worker.flush(moved(visit, "https://www.site.example/there", at=bench.time()))
    [visit] = await worker.take()
    assert (visit.url, visit.hops) == ("https://www.site.example/there", 1)


async def test_again_keeps_progress_and_spends_nothing(bench: Bench) -> None:
    job, worker, [visit] = await taken(bench, PAGE, priority=6)
    await worker.flush(again(visit, "page 3", due_at=bench.time() + 100))
    row = await bench.row("SELECT * FROM visits")
    assert (row.attempt, row.priority, row.progress) == (0, 6, "page 3")
    assert row.due_at == bench.time() + 100
    assert (await bench.events(job))[-1] == "page_again"


async def test_a_page_that_moves_keeps_its_place_relative_to_others(bench: Bench) -> None:
    """Virtual times of two sources have nothing to do with each other."""
    _job, worker, [_first, second] = await taken(bench, PAGE, f"{PAGE}/2")
    await bench.submit("https://other.example/")
    ranks = "UPDATE sources SET ranks = :ranks WHERE name = :name"
    await bench.execute(ranks, ranks='{"5":[7000,0]}', name="other.example")
    await worker.flush(moved(second, "https://other.example/there"))
    row = await bench.row("SELECT rank FROM visits WHERE page_id = :page", page=second.page_id)
    assert row.rank == 7_000 + second.rank


async def test_a_page_given_up_unasked_fails_without_an_attempt(bench: Bench) -> None:
    job, worker, [visit] = await taken(bench, PAGE)
    await worker.flush(no_request(visit))
    assert (await bench.counts(job)).failed == 1
    assert await bench.rows("SELECT * FROM attempts") == []
    letter = await bench.row("SELECT kind, attempts FROM dead_letters")
    assert (letter.kind, letter.attempts) == ("connect", 0)
    assert await bench.violations() == []


async def test_a_started_page_makes_its_jobs_running_once(bench: Bench) -> None:
    job, worker, [visit] = await taken(bench, PAGE)
    for _ in range(2):
        batch = worker.batch(release={}, started=[visit.page_id])
        await worker.flush_batch(batch)
        bench.time.moves(100)
    assert (await bench.counts(job)).state == "running"
    assert await bench.events(job) == ["job_queued", "job_started"]


async def test_results_of_a_job_never_change_after_a_refetch_by_another(bench: Bench) -> None:
    job, worker, [visit] = await taken(bench, PAGE)
    await worker.flush(fetched(visit, "first"))
    before = await bench.items(job)
    bench.time.moves(1_000)
    for build in (lambda v: fetched(v, "second"), failed):
        await bench.submit(PAGE)
        await worker.flush(*[build(v) for v in await worker.take()])
        assert await bench.items(job) == before


async def test_the_pace_that_a_lane_reports_is_stored(bench: Bench) -> None:
    _job, worker, [visit] = await taken(bench, PAGE)
    bench.time.moves(50)
    await worker.flush(fetched(visit))
    source = await bench.source("site.example")
    assert (source.next_fetch_at, source.delay_ms) == (bench.time(), 1_000)


async def test_a_lease_over_midnight_has_a_receipt_for_each_day(bench: Bench) -> None:
    _job, worker, [visit] = await taken(bench, PAGE)
    batch = worker.batch(fetched(visit))

    async def tell(*receipts: Receipt) -> list[tuple[int, int, int | None]]:
        report = replace(batch.reports[visit.source_id], receipts=receipts)
        await worker.flush_batch(replace(batch, reports={visit.source_id: report}))
        rows = await bench.rows("SELECT day, requests, smallest_gap_ms FROM receipts ORDER BY day")
        return [tuple(row) for row in rows]

    assert await tell(Receipt(7, 3, smallest_gap_ms=900)) == [(7, 3, 900)]
    told = await tell(Receipt(7, 4, smallest_gap_ms=800), Receipt(8, 1))
    assert told == [(7, 4, 800), (8, 1, None)]
    assert await tell(Receipt(7, 1, smallest_gap_ms=950), Receipt(8, 2, smallest_gap_ms=70)) == [
        (7, 4, 800), (8, 2, 70)
    ], "who comes back to a day that it does not know takes nothing away"  # fmt: skip


async def test_an_empty_batch_writes_nothing(bench: Bench) -> None:
    _job, worker, _visits = await taken(bench, PAGE)
    before = await bench.dump()
    await worker.flush()
    assert await bench.dump() == before


async def test_a_batch_of_a_thousand_pages_is_counted_exactly(bench: Bench) -> None:
    job, worker, _few = await taken(bench, *(f"https://site.example/{i}" for i in range(1_000)))
    visits = await worker.take(want=1_000)
    flushed = await worker.flush(*[fetched(v, f"text {v.page_id}") for v in visits])
    assert flushed.recorded == 1_000
    assert (await bench.counts(job)).done == 1_000
    assert await bench.violations() == []


async def test_a_page_that_fails_at_every_run_has_one_letter_with_a_count(bench: Bench) -> None:
    worker = await bench.worker()
    for n in range(12):
        await bench.submit("http://site.com/1", max_age=0)
        [visit] = await worker.lease_and_take() if not n else await worker.take()
        await worker.flush(failed(visit, Kind.GONE if n % 2 else Kind.TIMEOUT))
        bench.time.moves(1_000)
    letter = await bench.row("SELECT * FROM dead_letters")
    assert (letter.times, letter.kind, letter.state) == (12, "gone", "open")
    assert letter.last_failed_at - letter.created_at == 11_000
    assert len(await bench.rows("SELECT 1 FROM attempts")) == 12, "the history has all of them"
    assert await bench.retry_letters() == 1
    [visit] = await worker.take()
    await worker.flush(failed(visit))
    counts = await bench.rows("SELECT state, times FROM dead_letters ORDER BY id")
    assert [tuple(row) for row in counts] == [("retried", 12), ("open", 1)], "it counts anew"
