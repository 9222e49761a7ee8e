"""A report tells of what happened, to the page."""

from dataclasses import replace
from functools import partial

import orjson
import pytest

from curtsy.clock import DAY, HOUR, MINUTE
from curtsy.history.fold import TOTALS_AT_ONCE, fold_totals
from curtsy.jobs.cancel import cancel
from curtsy.model.failure_kinds import Kind
from curtsy.politeness.policy import Policy
from curtsy.politeness.waits import Waited
from curtsy.reports import open_letters as letters_module
from curtsy.reports.report import Report, from_json, to_json
from curtsy.reports.report_builder import MOST_LINES
from curtsy.reports.reporter import Reporter
from support.frontier import Bench, failed, fetched, not_modified, retried
from support.sites import Board

RECEIPT = """
    INSERT INTO receipts (source_id, day, requests, robots_refusals, smallest_gap_ms,
                          rests_announced, not_modified, bytes, bytes_saved)
    VALUES (:source, :day, :requests, 3, :gap, 2, 5, 4000000000, 1000)
"""
SOURCE = """
    INSERT INTO sources (name, policy, created_at) VALUES (:name, :policy, 1)
"""
FIRING = """
    INSERT INTO firings (schedule_id, fire_at, fired_at, trigger, outcome, waited)
    VALUES (:schedule, :slot, :at, :trigger, :outcome, :waited)
"""


def reporter(bench: Bench, policy: Policy | None = None) -> Reporter:
    return Reporter(store=bench.store, clock=bench.clock, policy=policy or Policy())


async def report_of(bench: Bench, hours: int = 6) -> Report:
    bench.time.moves(1)
    return await reporter(bench).on_last_hours(hours)


async def test_a_report_has_the_numbers_of_a_run(bench: Bench) -> None:
    urls = [f"https://{host}.example/{n}" for host in ("a", "b") for n in range(4)]
    await bench.job(*urls)
    worker = await bench.worker()
    at = bench.time.moves(MINUTE)
    one, two, three, four, five, *_ = await worker.lease_and_take()
    await worker.flush(
        replace(fetched(one, at=at), started_at=at - 120, waited=Waited(10, 2_000, 0, 0)),
        replace(not_modified(two, at=at), started_at=at - 40),
        fetched(three, at=at),
        retried(four, at=at, again_at=at + MINUTE),
        replace(failed(five, Kind.GONE, at=at), started_at=at - 9_000),
    )
    report = await report_of(bench)
    figures = report.figures
    assert (figures.succeeded, figures.failed, figures.retries) == (3, 1, 1)
    assert (figures.attempts, figures.new_dead_letters, figures.bytes) == (5, 1, 18)
    assert figures.success_rate == 0.75
    assert (report.waits.capacity_ms, report.waits.politeness_ms) == (10, 2_000)
    assert [(f.kind, f.number, f.before) for f in report.failures] == [
        ("gone", 1, 0), ("timeout", 1, 0)
    ]  # fmt: skip
    assert all(line.means and line.remedy for line in report.failures)
    assert [(s.source, s.failed, s.succeeded, s.worst_kind) for s in report.failing] == [
        ("b.example", 1, 0, "gone")
    ]
    assert [(line.kind, line.open, line.new) for line in report.letters] == [("gone", 1, 1)]
    assert sum(p.succeeded for p in report.series) == 3
    assert sum(p.failed for p in report.series) == 1
    assert [worker.machine for worker in report.workers] == ["machine"]
    assert from_json(to_json(report)) == report


async def test_a_report_compares_with_the_same_span_before(bench: Bench) -> None:
    await bench.job(*(f"https://a.example/{n}" for n in range(6)))
    worker = await bench.worker()
    [one, two, three, *_] = await worker.lease_and_take()
    await worker.flush(fetched(one, at=bench.time()))
    bench.time.moves(HOUR)
    await worker.flush(failed(two, Kind.TIMEOUT, at=bench.time()))
    bench.time.moves(HOUR)
    await worker.flush(fetched(three, at=bench.time()))
    bench.time.moves(HOUR // 2)
    first = await report_of(bench, hours=1)
    assert first.before is not None
    assert (first.figures.ended, first.before.ended, first.before.failed) == (1, 1, 1)
    alone = await report_of(bench, hours=48)
    assert alone.before is None, "nothing is known of the two days before"
    assert alone.covered_since is not None
    assert alone.covered_since > alone.since


async def test_an_empty_period_is_a_report_too(bench: Bench) -> None:
    report = await report_of(bench)
    assert (report.figures.ended, report.figures.success_rate, report.before) == (0, None, None)
    assert report.findings == (), "no worker is up, but nothing waits for one"
    await bench.job("https://a.example/1")
    report = await report_of(bench)
    assert [finding.code for finding in report.findings] == ["no_worker"]
    assert report.waiting == 1


async def test_letters_are_counted_up_to_a_cap(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(letters_module, "COUNT_CAP", 2)
    await bench.job(*(f"https://a.example/{n}" for n in range(3)))
    worker = await bench.worker()
    await worker.flush(*[failed(v, at=bench.time()) for v in await worker.lease_and_take()])
    [line] = (await report_of(bench)).letters
    assert (line.open, line.capped) == (2, True)
    bench.time.moves(DAY)
    [line] = (await report_of(bench)).letters
    assert line.new == 0, "those of yesterday are open and not new"


async def test_courtesy_is_of_the_days_that_the_period_touches(bench: Bench) -> None:
    today = bench.time() // DAY
    for source, name, policy in ((1, "quick.example", {"min_delay": 500}), (2, "slow.example", {}),
                                 (3, "many.example", {"min_delay": 0})):  # fmt: skip
        await bench.execute(SOURCE, name=name, policy=orjson.dumps(policy).decode())
        for day, gap in ((today, 700 if source == 1 else 990), (today - 3, 1)):
            await bench.execute(RECEIPT, source=source, day=day, requests=10, gap=gap)
    found = (await report_of(bench)).courtesy
    assert (found.sources, found.requests, found.robots_refusals) == (3, 30, 9)
    assert (found.rests_announced, found.not_modified) == (6, 15)
    assert (found.bytes, found.bytes_saved) == (12_000_000_000, 3_000)
    assert [(g.source, g.smallest_gap_ms, g.allowed_gap_ms) for g in found.closest] == [
        ("slow.example", 990, 1_000), ("quick.example", 700, 500)
    ]  # fmt: skip
    assert found.too_close == 1


async def test_slots_that_were_late_or_missed_are_named(bench: Bench) -> None:
    at = bench.time()
    slots = [
        (1, at - 5, at, "schedule", "fired", False),
        (1, at - HOUR, at - HOUR + 2 * MINUTE, "schedule", "fired", False),
        (1, at - 2 * HOUR, at - HOUR, "schedule", "fired", True),
        (1, at - 3 * HOUR, at - HOUR, "schedule", "missed", False),
        (2, at - HOUR, at, "schedule", "skipped", False),
        (2, at - 2, at - 1, "manual", "fired", False),
        (2, at - 20 * HOUR, at - 20 * HOUR, "schedule", "refused", False),
    ]
    for schedule, slot, fired_at, trigger, outcome, waited in slots:
        await bench.execute(FIRING, schedule=schedule, slot=slot, at=fired_at, trigger=trigger,
                            outcome=outcome, waited=waited)  # fmt: skip
    found = (await report_of(bench)).schedules
    assert (found.fired, found.late, found.missed, found.skipped, found.refused) == (3, 1, 1, 1, 0)
    assert found.largest_lag_ms == 2 * MINUTE
    [line] = found.lines
    assert (line.schedule, line.late, line.missed) == ("a deleted schedule", 1, 1)


async def test_runs_of_sites_and_their_records(bench: Bench, board: Board) -> None:
    await board.whole_run("abc")
    bench.time.moves(MINUTE)
    await board.whole_run("abd")
    bench.time.moves(MINUTE)
    run = await board.run()
    await bench.store.write(lambda c: cancel(c, run, now=bench.time()) and None)
    found = (await report_of(bench)).sites
    [line] = found.lines
    assert (line.site, line.failed_runs) == ("board", 0)
    assert (found.new, found.removed, found.capped) == (4, 1, False)
    assert (await report_of(bench, hours=1)).sites.runs >= 2
    bench.time.moves(DAY)
    assert (await report_of(bench)).sites.runs == 0


async def test_a_report_of_many_sources_stays_small(bench: Bench) -> None:
    await bench.job(*(f"https://host-{n}.example/{m}" for n in range(40) for m in range(5)))
    worker = await bench.worker()
    at = bench.time()
    results = [failed(v, at=at) if n % 2 else fetched(v, at=at)
               for n, v in enumerate(await worker.lease_and_take())]  # fmt: skip
    await worker.flush(*results)
    report = await report_of(bench)
    assert report.figures.ended == 200
    assert len(report.failing) == len(report.slowest) == MOST_LINES
    assert len(to_json(report)) < 10_000


async def test_what_was_not_folded_yet_is_in_the_report(bench: Bench) -> None:
    await bench.job("https://a.example/1")
    worker = await bench.worker()
    await worker.flush(*[fetched(v, at=bench.time()) for v in await worker.lease_and_take()])
    assert (await report_of(bench)).figures.succeeded == 1
    left = partial(fold_totals, now=bench.time(), most=TOTALS_AT_ONCE)
    assert not await bench.store.write(left)
