"""What a flush adds to the history, and what is read from it."""

from dataclasses import replace
from itertools import pairwise

from curtsy.clock import HOUR, MINUTE
from curtsy.frontier.batch import Result
from curtsy.history.counters import counters
from curtsy.history.reader import by_source, of_sources, series, totals
from curtsy.history.steps import HistorySteps
from curtsy.history.totals import Totals
from curtsy.model.failure_kinds import Kind
from curtsy.politeness.waits import Waited
from support.frontier import (
    Bench,
    ScriptedWorker,
    again,
    failed,
    fetched,
    moved,
    no_request,
    not_modified,
    retried,
)

PAGES = [f"https://{host}.example/{n}" for host in ("a", "b") for n in range(4)]


async def read(bench: Bench, hours: int = 1) -> Totals:
    await fold(bench)
    until = bench.time() + 1
    return await bench.store.read(lambda c: totals(c, since=until - hours * HOUR, until=until))


async def fold(bench: Bench) -> None:
    await HistorySteps(store=bench.store, clock=bench.clock).fold_all()


async def worker_with(bench: Bench, *urls: str, priority: int = 5) -> ScriptedWorker:
    await bench.job(*urls, priority=priority)
    worker = await bench.worker()
    await worker.lease()
    return worker


def took(result: Result, ms: int, *waited: int) -> Result:
    return replace(result, started_at=result.ended_at - ms, waited=Waited(*waited))


async def test_every_outcome_is_counted(bench: Bench) -> None:
    worker = await worker_with(bench, *PAGES[:5])
    at = bench.time()
    one, two, three, four, *_ = await worker.take()
    await worker.flush(
        took(fetched(one, at=at), 120, 10, 2_000),
        took(not_modified(two, at=at), 40),
        took(failed(three, at=at), 900),
        took(retried(four, at=at, again_at=at + 60_000), 30_000, 0, 0, 0, 5_000),
    )
    found = await read(bench)
    assert found.attempts == {"fetched": 1, "not_modified": 1, "moved": 0, "again": 0, "failed": 2}
    assert (found.succeeded, found.failed, found.retries, found.dead_letters) == (2, 1, 1, 1)
    assert found.kinds == {"gone": 1, "timeout": 1}
    assert (found.retried_kinds, found.failed_kinds) == ({"timeout": 1}, {"gone": 1})
    assert found.bytes == 9
    assert found.waits == {"capacity": 10, "politeness": 2_000, "closed": 0, "backoff": 65_000}
    assert (found.fetch.number, found.fetch.sum_ms) == (4, 31_060)
    assert (found.wait.number, found.wait.sum_ms) == (4, 7_010)
    assert found.success_rate == 2 / 3
    assert {name: band.requests for name, band in found.bands.items()} == {"medium": 4}


async def test_redirects_and_continued_visits_are_attempts_of_one_page(bench: Bench) -> None:
    worker = await worker_with(bench, PAGES[0], priority=1)
    at = bench.time()
    [visit] = await worker.take()
    await worker.flush(again(visit, "p", due_at=at, at=at))
    [visit] = await worker.take()
    await worker.flush(moved(visit, PAGES[1], at=at))
    [visit] = await worker.take()
    await worker.flush(fetched(visit, at=at))
    found = await read(bench)
    assert (found.attempts["again"], found.attempts["moved"], found.attempts["fetched"]) == (1,) * 3
    assert (found.requests, found.succeeded, found.failed) == (3, 1, 0)
    assert list(found.bands) == ["high"]


async def test_a_page_given_up_without_a_request_failed_but_is_no_attempt(bench: Bench) -> None:
    worker = await worker_with(bench, *PAGES[:2])
    at = bench.time()
    one, two = await worker.take()
    of_robots = replace(retried(two, at=at, again_at=at + 1_000), of_robots=True)
    await worker.flush(no_request(one, at=at), of_robots)
    found = await read(bench)
    assert (found.requests, found.kinds, found.fetch.number) == (0, {}, 0)
    assert (found.failed, found.failed_kinds, found.retries) == (1, {"connect": 1}, 0)
    assert found.waits["backoff"] == 1_000


async def test_no_sum_falls_when_a_clock_was_corrected_meanwhile(bench: Bench) -> None:
    worker = await worker_with(bench, *PAGES[:2])
    at = bench.time()
    one, two = await worker.take()
    await worker.flush(
        replace(fetched(one, at=at), started_at=at + 20), retried(two, at=at, again_at=at - 10)
    )
    found = await read(bench)
    assert (found.fetch.sum_ms, found.fetch.number) == (5, 2)
    assert found.waits["backoff"] == 0


async def test_only_the_first_letter_of_a_page_is_a_new_one(bench: Bench) -> None:
    worker = await bench.worker()
    for _ in range(2):
        await bench.job(PAGES[0])
        await worker.lease()
        await worker.flush(*[failed(v, Kind.GONE, at=bench.time()) for v in await worker.take()])
    found = await read(bench)
    assert (found.failed, found.dead_letters) == (2, 1)


async def test_a_result_that_does_not_count_is_not_counted(bench: Bench) -> None:
    worker = await worker_with(bench, PAGES[0])
    [visit] = await worker.take()
    result = fetched(visit, at=bench.time())
    await worker.flush(result)
    await worker.flush(result)  # as after a commit whose answer was lost
    assert (await bench.rows("SELECT count(*) AS n FROM history_batches"))[0].n == 1
    assert (await read(bench)).requests == 1


async def test_sources_are_read_in_the_order_of_their_requests_or_failures(bench: Bench) -> None:
    worker = await worker_with(bench, *PAGES[:3], PAGES[4])
    at = bench.time()
    await worker.flush(*[
        failed(v, at=at) if v.url == PAGES[4] else fetched(v, at=at) for v in await worker.take()
    ])  # fmt: skip
    await fold(bench)
    period = {"since": at - HOUR, "until": at + 1}
    busy = await bench.store.read(lambda c: by_source(c, most=2, **period))
    assert [(s.name, s.totals.requests) for s in busy] == [("a.example", 3), ("b.example", 1)]
    failing = await bench.store.read(lambda c: by_source(c, most=2, by="failures", **period))
    assert [(s.name, s.totals.kinds) for s in failing] == [("b.example", {"gone": 1})]
    assert {s.totals.since for s in busy} == {at // MINUTE * MINUTE}, "when the history began"
    ids = [s.source_id for s in busy]
    found = await bench.store.read(lambda c: of_sources(c, [*ids, 99], **period))
    assert [found[i].succeeded for i in ids] == [3, 0]
    assert found[99].requests == 0


async def test_a_series_has_a_point_for_every_span(bench: Bench) -> None:
    worker = await worker_with(bench, *PAGES[:3])
    begin = bench.time()
    for visit in (await worker.take())[:3]:
        await worker.flush(fetched(visit, at=bench.time.moves(20 * MINUTE)))
    await fold(bench)
    until = bench.time() + 1
    points = await bench.store.read(lambda c: series(c, since=begin, until=until, points=7))
    assert sum(p.totals.requests for p in points) == 3
    assert len(points) <= 7
    assert {b.at - a.at for a, b in pairwise(points)} == {points[0].span_ms}


async def test_what_is_not_folded_is_not_said_to_be_covered(bench: Bench) -> None:
    worker = await worker_with(bench, *PAGES[:2])
    one, two = await worker.take()
    await worker.flush(fetched(one, at=bench.time.moves(MINUTE)))
    await read(bench)
    await worker.flush(fetched(two, at=bench.time.moves(MINUTE)))
    until = bench.time.moves(MINUTE)
    found = await bench.store.read(lambda c: totals(c, since=until - HOUR, until=until))
    assert (found.requests, found.until) == (1, until - MINUTE)
    assert found.since == (until - 2 * MINUTE) // MINUTE * MINUTE


async def test_counters_are_of_all_time_and_by_described_source(bench: Bench) -> None:
    worker = await worker_with(bench, PAGES[0], PAGES[4])
    await bench.execute("UPDATE sources SET described = true WHERE name = 'a.example'")
    await worker.flush(*[fetched(v, at=bench.time()) for v in await worker.take()])
    await fold(bench)
    found = await bench.store.read(counters)
    assert (found.totals.requests, found.totals.bands["medium"].requests) == (2, 2)
    assert {name: source.requests for name, source in found.sources.items()} == {"a.example": 1}
