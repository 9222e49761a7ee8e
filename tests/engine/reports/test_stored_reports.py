"""Reports are kept in their order, as they were made, and not for ever."""

import asyncio

import pytest

from curtsy.clock import DAY, HOUR, MINUTE
from curtsy.errors import NotFound
from curtsy.maintenance.report import ALREADY_MADE
from curtsy.maintenance.tasks import MaintenanceTasks
from curtsy.politeness.policy import Policy
from curtsy.reports import stored_reports as module
from curtsy.reports.reporter import LONGEST, USUAL, Reporter
from curtsy.reports.stored_reports import NoReport, find_report, stored_reports
from support.frontier import Bench, fetched


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
    assert first == (begin - 30_000 - USUAL, begin - 30_000), "whole minutes, as history counts"
    assert second[0] == first[1]
    bench.time.moves(40 * DAY)
    await task(bench)
    last = (await periods(bench))[-1]
    assert last[1] - last[0] == LONGEST, "after a pause it goes back no further"


async def test_the_reports_of_the_timetable_count_every_page_once(bench: Bench) -> None:
    await bench.job(*(f"https://a.example/{n}" for n in range(8)))
    worker = await bench.worker()
    taken = await worker.lease_and_take()
    ended = 0
    await task(bench)
    for n, visit in enumerate(taken):
        await worker.flush(fetched(visit, at=bench.time.moves(41_000)))
        if n % 3 == 0:
            await task(bench)
    bench.time.moves(2 * MINUTE)
    await task(bench)
    for row in await bench.rows("SELECT ended FROM stored_reports ORDER BY id"):
        ended += row.ended
    assert ended == len(taken)


async def test_a_slot_that_runs_twice_stores_one_report(bench: Bench) -> None:
    await task(bench)
    bench.time.moves(6 * HOUR)
    both = await asyncio.gather(task(bench), task(bench))
    assert sorted(said == ALREADY_MADE for said in both) == [False, True]
    assert await task(bench) == ALREADY_MADE
    assert len(await periods(bench)) == 2


async def test_a_clock_that_was_set_back_gives_a_report_again(bench: Bench) -> None:
    await task(bench)
    bench.time.moves(-3 * HOUR)
    assert (await task(bench)).startswith("Report rep_")
    [_, (since, until)] = await periods(bench)
    assert until - since == USUAL


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
