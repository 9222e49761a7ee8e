"""What runs of sites found, whatever their scrapers gave back; and what is called removed."""

from typing import Any

import orjson
import pytest

from curtsy.app.scheduling import Scheduler
from curtsy.clock import MINUTE
from support.frontier import Bench
from support.schedules import ticker
from support.sites import Board

ODD: dict[str, dict[str, Any]] = {
    "a number": {"title": "x", "records": 12},
    "a list of its own": {"records": [1, {"key": 3}], "next": None, "empty": False},
    "no list": {"records": {}, "next": None, "empty": None},
    "other fields beside it": {"records": [], "next": None, "empty": False, "title": "x"},
}


async def found(board: Board, run: str) -> list[Any]:
    rows = await board.bench.rows(
        "SELECT s.data FROM sightings s JOIN jobs j ON j.id = s.job_id WHERE j.public_id = :run",
        run=run,
    )
    return [orjson.loads(row.data) for row in rows]


@pytest.mark.parametrize("record", ODD.values(), ids=ODD)
async def test_one_record_may_have_any_fields(board: Board, record: dict[str, Any]) -> None:
    run = await board.run(results_wanted=2)
    await board.fetch_alone(orjson.dumps(record).decode())
    await board.gather()
    [told] = await found(board, run)
    assert told == record | {"url": "https://board.example/?page=1&q=cook"}
    assert (await board.told(run)).message == "1 records: 1 new, 0 changed, 0 same, 0 removed."


async def test_one_record_is_known_again_by_its_key_and_keeps_its_own_url(board: Board) -> None:
    key = "k" * 22
    runs = []
    for price in (1, 2):
        runs.append(await board.run(results_wanted=2))
        record = {"url": "https://other.example/7", "price": price, "_key": key}
        await board.fetch_alone(orjson.dumps(record).decode())
        await board.gather()
    assert [await board.seen(run) for run in runs] == [{key: "new"}, {key: "changed"}]
    assert await found(board, runs[1]) == [{"url": "https://other.example/7", "price": 2}]


async def test_what_cannot_be_read_is_told_with_the_run(board: Board, bench: Bench) -> None:
    run = await board.run()
    await board.fetch("ab", "cd", "ef", "g")
    await bench.execute(
        "UPDATE documents SET content = :no "
        "WHERE page_id = (SELECT page_id FROM items WHERE position = 0)", no=b"no document",
    )  # fmt: skip
    await board.gather()
    assert list(await board.seen(run)) == ["c", "d", "e", "f", "g"]
    message = (await board.told(run)).message
    assert message.endswith("What 1 of 4 pages brought cannot be read."), message


async def test_a_site_whose_records_cannot_be_gathered_keeps_no_other_from_it(
    board: Board, bench: Bench
) -> None:
    """Nested so deep, what can be read cannot be written again."""
    other = await Board.declared(bench, "other")
    stuck = await board.run(results_wanted=2)
    await board.fetch_alone(f'{{"deep": {"[" * 300}{"]" * 300}}}')
    fine = await other.run()
    await other.fetch("ab", "cd", "ef", "gh")
    scheduler = Scheduler(store=bench.store, clock=bench.clock, run_timeout=15 * MINUTE,
                          ticker=ticker(bench.store, bench.clock))  # fmt: skip
    await scheduler.gather()
    assert (await other.told(fine)).gathered_at is not None
    assert (await board.told(stuck)).gathered_at is None


async def test_runs_that_ended_are_compared_in_their_order(board: Board) -> None:
    runs = [await board.run()]
    await board.fetch("ab", "cd", "ef", "")
    runs.append(await board.run())
    await board.fetch("ab", "cd", "", "")
    await board.gather()
    first, second = [await board.seen(run) for run in runs]
    assert set(first.values()) == {"new"}
    assert [key for key, change in second.items() if change == "removed"] == ["e", "f"]


async def test_counted_pages_that_do_not_reach_the_end_call_nothing_removed(board: Board) -> None:
    """What is not on them may be on the next."""
    await board.whole_run("abcdefgh")
    pushed_down = await board.whole_run("xabcdefg")
    assert set((await board.seen(pushed_down)).values()) == {"new", "same"}
    shorter = await board.whole_run("xabcd")
    gone = [key for key, change in (await board.seen(shorter)).items() if change == "removed"]
    assert gone == ["e", "f", "g"], "here the last page had nothing"


async def test_a_last_page_that_is_repeated_is_the_end(board: Board) -> None:
    """As some sites answer who counts too far."""
    await board.whole_run("abcdef")
    run = await board.run()
    await board.fetch("ab", "cd", "cd", "cd")
    await board.gather()
    gone = [key for key, change in (await board.seen(run)).items() if change == "removed"]
    assert gone == ["e", "f"]


async def test_pages_that_were_followed_end_where_none_leads_on(bench: Bench) -> None:
    board = await Board.declared(bench, "followed", follows=True)
    on = "https://followed.example/?page={}&q=cook"

    async def run(*pages: str, leads_on: bool) -> dict[str, str]:
        made = await board.run(results_wanted=4)
        for n, keys in enumerate(pages, 2):
            links = (on.format(n),) if leads_on or n <= len(pages) else ()
            await board.fetch(keys, links=links)
            await bench.follow_links()
        await board.gather()
        return await board.seen(made)

    await run("ab", "cd", leads_on=False)
    assert "removed" not in (await run("xa", "bc", leads_on=True)).values()
    seen = await run("xa", "b", leads_on=False)
    assert [key for key, change in seen.items() if change == "removed"] == ["c"]
