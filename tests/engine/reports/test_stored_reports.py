"""Reports are kept in their order, as they were made, and not for ever."""

import asyncio
from itertools import pairwise

import pytest

from curtsy.clock import DAY, HOUR, MINUTE
from curtsy.errors import NotFound
from curtsy.history.roll_up import roll_up_totals
from curtsy.history.steps import HistorySteps
from curtsy.maintenance.report import ALREADY_MADE
from curtsy.maintenance.tasks import MaintenanceTasks
from curtsy.politeness.policy import Policy
from curtsy.reports import stored_reports as module
from curtsy.reports.reporter import LONGEST, STEP, USUAL, Reporter
from curtsy.reports.stored_reports import NoReport, find_report, stored_reports
from support.frontier import Bench
from support.history import append, fact

BEGIN = 20_000 * DAY


def reporter(bench: Bench) -> Reporter:
    return Reporter(store=bench.store, clock=bench.clock, policy=Policy())


async def task(bench: Bench, name: str = "reports") -> str:
    tasks = MaintenanceTasks(store=bench.store, clock=bench.clock, keep_days=30)
    return await tasks.by_name()[name]()


async def periods(bench: Bench) -> list[tuple[int, int]]:
    """Of the reports of the timetable, the oldest first."""
    rows = await bench.rows(
        "SELECT since_at, until_at FROM stored_reports WHERE trigger = 'schedule' ORDER BY id"
    )
    return [(row.since_at, row.until_at) for row in rows]


async def test_a_stored_report_is_the_report_that_was_made(bench: Bench) -> None:
    with pytest.raises(NoReport, match="generate-report"):
        await bench.store.read(lambda c: find_report(c, "latest"))
    first = await reporter(bench).on_last_hours(6)
    bench.time.moves(1)
    second = await reporter(bench).on_last_hours(1)
    assert await bench.store.read(lambda c: find_report(c, first.id)) == first
    assert await bench.store.read(lambda c: find_report(c, "latest")) == second
    with pytest.raises(NotFound, match="rep_none"):
        await bench.store.read(lambda c: find_report(c, "rep_none"))


async def test_lists_continue_where_they_ended(bench: Bench) -> None:
    made = [(await reporter(bench).on_last_hours(1)).id for _ in range(5)]
    found, before = [], None
    while rows := await bench.store.read(lambda c: stored_reports(c, before=before, most=2)):  # noqa: B023
        found += [row.public_id for row in rows]
        before = rows[-1].id
    assert found == made[::-1]


async def test_reports_of_the_timetable_follow_each_other(bench: Bench) -> None:
    begin = bench.time.moves(30_000)
    assert "6 hours: 0 pages ended." in await task(bench)
    bench.time.moves(6 * HOUR + 5_000)
    assert (await task(bench)).startswith("Report rep_")
    [first, second] = await periods(bench)
    until = STEP.begin(begin - MINUTE)
    assert first == (until - USUAL, until), "as the history counts, and what is surely flushed"
    assert second[0] == first[1]
    bench.time.moves(40 * DAY)
    await task(bench)
    last = (await periods(bench))[-1]
    assert LONGEST - HOUR < last[1] - last[0] <= LONGEST, "after a pause it goes back no further"


async def test_the_reports_of_the_timetable_count_every_page_once(bench: Bench) -> None:
    """They are made at any minute of the hour; by then the minutes of the beginning are rolled up,
    and what was flushed a moment ago is not folded."""
    steps = HistorySteps(store=bench.store, clock=bench.clock)
    bench.time.moves(BEGIN + 7 * MINUTE - bench.time.at)
    await task(bench)
    pages = 13 * 60
    for n in range(1, pages + 1):
        now = bench.time.moves(MINUTE)
        await append(bench.store, [fact(now)])
        if n % 10 == 0:
            await bench.store.write(lambda c: roll_up_totals(c, now=now))  # noqa: B023
        if n % 360 == 0:
            await task(bench)
        elif n % 60 == 3:
            await steps.fold_all()
    bench.time.moves(21 * MINUTE)
    await task(bench)
    reports = await bench.rows("SELECT ended FROM stored_reports ORDER BY id")
    assert [row.ended for row in reports] == [0, 352, 360, 68]
    assert sum(row.ended for row in reports) == pages


async def test_after_a_pause_of_days_nothing_counts_twice(bench: Bench) -> None:
    """A part of an hour is in no report: the history knows it no longer from the rest of its
    hour."""
    steps = HistorySteps(store=bench.store, clock=bench.clock)
    bench.time.moves(BEGIN + 21 * MINUTE - bench.time.at)
    await append(bench.store, [fact(BEGIN + n * MINUTE) for n in range(120)])
    await task(bench)
    bench.time.moves(4 * DAY)
    await bench.store.write(lambda c: roll_up_totals(c, now=bench.time.at))
    await steps.fold_all()
    await task(bench)
    reports = await bench.rows("SELECT ended FROM stored_reports ORDER BY id")
    assert [row.ended for row in reports] == [20, 60]


async def test_a_report_says_the_whole_period_that_it_counts(bench: Bench) -> None:
    bench.time.moves(BEGIN + 7 * MINUTE - bench.time.at)
    await append(bench.store, [fact(bench.time.at)])
    for hours, begin in ((1, 7), (6, 0)):
        report = await reporter(bench).on_last_hours(hours)
        assert report.since == BEGIN - hours * HOUR + begin * MINUTE


async def test_a_slot_that_runs_twice_stores_one_report(bench: Bench) -> None:
    await task(bench)
    bench.time.moves(6 * HOUR)
    both = await asyncio.gather(task(bench), task(bench))
    assert sorted(said == ALREADY_MADE for said in both) == [False, True]
    assert await task(bench) == ALREADY_MADE
    assert len(await periods(bench)) == 2


async def test_a_clock_that_was_set_back_ends_no_chain(bench: Bench) -> None:
    """By whole slots, so that each next report would begin where one of before did."""
    for _ in range(5):
        await task(bench)
        bench.time.moves(6 * HOUR)
    before = await periods(bench)
    bench.time.moves(-18 * HOUR)
    assert (await task(bench)) == ALREADY_MADE, "up to now there are reports"
    for _ in range(3):
        bench.time.moves(6 * HOUR)
        assert (await task(bench)).startswith("Report rep_")
    found = await periods(bench)
    assert all(one[1] == following[0] for one, following in pairwise(found))
    assert len(await bench.rows("SELECT id FROM stored_reports")) == len(before) + 3


async def test_reports_by_hand_may_overlap(bench: Bench) -> None:
    for _ in range(2):
        await reporter(bench).on_last_hours(6)
    assert len(await bench.rows("SELECT id FROM stored_reports")) == 2


async def test_the_oldest_give_way(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_STORED", 3)
    made = [(await reporter(bench).on_last_hours(1)).id for _ in range(5)]
    rows = await bench.rows("SELECT public_id FROM stored_reports ORDER BY id")
    assert [row.public_id for row in rows] == made[-3:]


async def test_cleanup_deletes_what_is_older_than_its_days(bench: Bench) -> None:
    await reporter(bench).on_last_hours(6)
    bench.time.moves(29 * DAY)
    kept = await reporter(bench).on_last_hours(6)
    bench.time.moves(2 * DAY)
    await task(bench, "cleanup")
    rows = await bench.rows("SELECT public_id FROM stored_reports")
    assert [row.public_id for row in rows] == [kept.id]
