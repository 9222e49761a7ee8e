"""What a take promises: the best visits first, shared fairly, and none that is not due."""

from dataclasses import replace

from curtsy.frontier.take import Visit
from support.frontier import Bench, again, fetched, retried


def paths(visits: list[Visit]) -> list[str]:
    return [visit.url.rsplit("/", 1)[1] for visit in visits]


async def test_visits_come_by_priority_then_rank(bench: Bench) -> None:
    await bench.submit("https://a.example/p5", "https://a.example/q5", priority=5)
    await bench.submit("https://a.example/p1", "https://a.example/q1", priority=1)
    await bench.submit("https://a.example/p9", priority=9)
    visits = await (await bench.worker()).lease_and_take()
    assert paths(visits) == ["p1", "q1", "p5", "q5", "p9"]


async def test_a_small_job_on_a_busy_source_waits_for_few_pages_of_the_large_one(
    bench: Bench,
) -> None:
    await bench.submit(*(f"https://a.example/large{i}" for i in range(200)))
    await bench.submit(*(f"https://a.example/small{i}" for i in range(5)))
    visits = await (await bench.worker()).lease_and_take()
    first_ten = paths(visits)[:10]
    assert [p for p in first_ten if p.startswith("small")] == [f"small{i}" for i in range(5)]


async def test_a_late_small_job_shares_from_where_the_large_one_is(bench: Bench) -> None:
    await bench.submit(*(f"https://a.example/large{i}" for i in range(200)))
    worker = await bench.worker()
    visits = await worker.lease_and_take()
    batch = worker.batch(*[fetched(v) for v in visits[:50]])
    [report] = batch.reports.values()
    batch.reports[report.source_id] = replace(report, ranks='{"5":[50,0]}')
    await worker.flush_batch(batch)
    await bench.submit(*(f"https://a.example/small{i}" for i in range(5)))
    first_ten = paths(await worker.take())[:10]
    assert sum(p.startswith("small") for p in first_ten) == 5
    assert sum(p.startswith("large") for p in first_ten) == 5


async def test_a_postponed_visit_is_taken_only_when_it_is_due(bench: Bench) -> None:
    await bench.submit("https://a.example/late", "https://a.example/now")
    worker = await bench.worker()
    late, _now = await worker.lease_and_take()
    await worker.flush(retried(late, again_at=bench.time() + 500))
    assert paths(await worker.take()) == ["now"]
    bench.time.moves(500)
    assert paths(await worker.take()) == ["late", "now"]


async def test_a_due_retry_goes_before_ordinary_work(bench: Bench) -> None:
    await bench.submit("https://a.example/first", "https://a.example/second", priority=8)
    worker = await bench.worker()
    _first, second = await worker.lease_and_take()
    await worker.flush(retried(second, again_at=bench.time()))
    assert paths(await worker.take()) == ["second", "first"]


async def test_no_more_than_wanted_of_each_priority_are_read(bench: Bench) -> None:
    await bench.submit(*(f"https://a.example/{i}" for i in range(20)), priority=5)
    await bench.submit(*(f"https://a.example/x{i}" for i in range(20)), priority=6)
    worker = await bench.worker()
    [leased] = await worker.lease()
    visits = await worker.take(leased.source_id, want=3)
    assert [v.priority for v in visits] == [5, 5, 5, 6, 6, 6]


async def test_a_cursor_skips_what_was_read_in_its_priority_only(bench: Bench) -> None:
    await bench.submit(*(f"https://a.example/{i}" for i in range(4)), priority=5)
    await bench.submit("https://a.example/x", priority=6)
    worker = await bench.worker()
    first, second, *_rest = await worker.lease_and_take()
    rest = await worker.take(after={5: (second.rank, second.page_id)})
    assert paths(rest) == ["2", "3", "x"]
    assert paths(await worker.take(after={5: (first.rank, first.page_id)}))[0] == "1"


async def test_only_the_visits_of_the_source_asked_for_are_read(bench: Bench) -> None:
    await bench.submit("https://a.example/a", "https://b.example/b")
    worker = await bench.worker()
    leases = {one.name: one.source_id for one in await worker.lease()}
    assert paths(await worker.take(leases["b.example"])) == ["b"]


async def test_a_visit_carries_what_the_last_fetch_left_for_the_next(bench: Bench) -> None:
    await bench.submit("https://a.example/a")
    worker = await bench.worker()
    [visit] = await worker.lease_and_take()
    assert (visit.etag, visit.attempt, visit.progress) == (None, 0, None)
    await worker.flush(fetched(visit, etag='"one"'))
    await bench.submit("https://a.example/a")
    [visit] = await worker.take()
    assert visit.etag == '"one"'
    await worker.flush(again(visit, "half", due_at=bench.time()))
    [visit] = await worker.take()
    assert visit.progress == "half"


async def test_taking_writes_nothing(bench: Bench) -> None:
    await bench.submit("https://a.example/a")
    worker = await bench.worker()
    await worker.lease()
    before = await bench.dump()
    await worker.take()
    assert await bench.dump() == before
