"""What runs of sites found, whatever their scrapers gave back; and what is called removed."""

import tracemalloc
from typing import Any

import orjson
import pytest

from curtsy.clock import MINUTE
from curtsy.jobs import retry_failures
from curtsy.politeness.policy import Policy
from curtsy.processes.scheduler import SchedulerLoops
from curtsy.scrapers.record_keys import pack_listing
from curtsy.sites import run_pages
from curtsy.sites.records import changes_of, sightings
from support.frontier import Bench
from support.schedules import ticker, unwatched
from support.sites import Board

MEGABYTE = 10**6

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


def as_listing(**records: int) -> str:
    """A page with these, by their keys."""
    keyed = [{"key": key, "fields": {"id": key, "price": price}} for key, price in records.items()]
    return pack_listing(keyed, following=None, is_empty=False).decode()


@pytest.mark.parametrize("record", ODD.values(), ids=ODD)
async def test_one_record_may_have_any_fields(board: Board, record: dict[str, Any]) -> None:
    run = await board.run(results_wanted=2)
    await board.fetch_alone(orjson.dumps(record).decode())
    await board.gather()
    [told] = await found(board, run)
    assert told == record | {"url": "https://board.example/?page=1&q=cook"}
    assert (await board.told(run)).message == "1 record: 1 new, 0 changed, 0 same, 0 removed."


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


async def test_fields_keep_their_order_and_another_order_is_no_change(board: Board) -> None:
    runs = []
    for fields in ({"title": "x", "id": 1, "a": 2}, {"a": 2, "title": "x", "id": 1}):
        runs.append(await board.run(results_wanted=2))
        page = pack_listing([{"key": "k", "fields": fields}], following=None, is_empty=False)
        await board.fetch_alone(page.decode())
        await board.gather()
    assert [await board.seen(run) for run in runs] == [{"k": "new"}, {"k": "same"}]
    shown = [list(one) for run in runs for one in await found(board, run)]
    assert shown == [["title", "id", "a"], ["a", "title", "id"]]


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
    assert message.endswith("The content of 1 of 4 pages cannot be parsed."), message


async def test_a_site_whose_records_cannot_be_gathered_keeps_no_other_from_it(
    board: Board, bench: Bench
) -> None:
    """Nested so deep, what can be read cannot be written again."""
    other = await Board.declared(bench, "other")
    stuck = await board.run(results_wanted=2)
    await board.fetch_alone(f'{{"deep": {"[" * 300}{"]" * 300}}}')
    fine = await other.run()
    await other.fetch("ab", "cd", "ef", "gh")
    scheduler = SchedulerLoops(store=bench.store, clock=bench.clock, policy=Policy(),
                               run_timeout=15 * MINUTE,
                               disk=unwatched(bench.store, bench.clock),
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


async def test_gathering_takes_the_memory_of_a_page_however_many_there_are(
    board: Board, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_pages, "BYTES_AT_ONCE", MEGABYTE)
    run = await board.run(results_wanted=20)
    for page in range(10):
        fields = {"text": "x" * (MEGABYTE // 2)}
        records = [{"key": f"{page}.{n}", "fields": fields} for n in range(6)]
        await board.fetch_alone(pack_listing(records, following=None, is_empty=False).decode())
    tracemalloc.start()
    try:
        await board.gather()
        _now, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(await board.seen(run)) == 60
    assert peak < 15 * MEGABYTE, "all of them are 30"


@pytest.mark.parametrize("wanted", [1, 3, 4, 5, 8])
async def test_a_run_counts_the_records_that_were_wanted_and_no_others(
    board: Board, wanted: int
) -> None:
    """Its pages have two each, or three."""
    run = await board.run(results_wanted=wanted)
    await board.fetch("abc", "def", "ghi", "jkl")
    await board.gather()
    told = (await board.told(run)).message
    counted = await board.bench.store.read(lambda c: changes_of(c, 1, wanted=wanted))
    assert counted == {"new": wanted, "changed": 0, "same": 0, "removed": 0}
    records = "1 record" if wanted == 1 else f"{wanted} records"
    assert told.startswith(f"{records}: {wanted} new, 0 changed, 0 same, 0 removed.")
    assert len(await board.bench.store.read(lambda c: sightings(c, 1, most=wanted))) == wanted


async def test_numbered_pages_that_had_too_few_are_told(board: Board) -> None:
    run = await board.run(results_wanted=8)
    await board.fetch("a", "b", "c", "d")
    await board.gather()
    assert (await board.told(run)).message.endswith(
        "8 were wanted, but the last of 4 pages still had new records: check results_per_page and "
        "max_pages of the site."
    )
    run = await board.run(results_wanted=8)
    await board.fetch("a", "b", "c", "")
    await board.gather()
    assert (await board.told(run)).message.endswith("The listing ended: 8 were wanted.")


async def test_a_run_has_so_many_records_and_says_that_there_were_more(
    board: Board, monkeypatch: pytest.MonkeyPatch
) -> None:
    await board.whole_run("abcde")
    monkeypatch.setattr(run_pages, "MOST_RECORDS", 4)
    monkeypatch.setattr(run_pages, "BYTES_AT_ONCE", 1)
    run = await board.whole_run("bcdefg")
    assert await board.seen(run) == dict.fromkeys("bcde", "same"), "and nothing is called removed"
    assert (await board.told(run)).message.endswith(
        "The run found more than 4: the others are not stored."
    )


async def retried(board: Board, run: str) -> None:
    await board.bench.store.write(lambda c: retry_failures(c, run, now=board.bench.time()) and None)


async def test_what_a_later_run_saw_stays_when_an_old_runs_failures_are_retried(
    board: Board,
) -> None:
    first = await board.run(results_wanted=4)
    await board.fetch_alone(as_listing(a=1))
    await board.fail()
    await board.gather()
    second = await board.run(results_wanted=4)
    await board.fetch_alone(as_listing(a=2, c=1))
    await board.fetch("")
    await board.gather()
    await retried(board, first)
    await board.fetch("")
    await board.gather()
    assert await board.seen(first) == {"a": "new"}, "what the second saw was not removed before it"
    third = await board.run(results_wanted=4)
    await board.fetch_alone(as_listing(a=2, c=1))
    await board.fetch("")
    await board.gather()
    assert [await board.seen(run) for run in (second, third)] == [
        {"a": "changed", "c": "new"}, {"a": "same", "c": "same"},
    ]  # fmt: skip


async def test_an_old_run_tells_of_what_its_retried_pages_brought(board: Board) -> None:
    """Of what is gone, the later run has told."""
    await board.whole_run("abx")
    first = await board.run()
    await board.fetch("ab")
    await board.fail()
    await board.fetch("", "")
    await board.gather()
    await board.whole_run("ab")
    await retried(board, first)
    await board.fetch("cd")
    await board.gather()
    assert await board.seen(first) == {"a": "same", "b": "same", "c": "new", "d": "new"}


async def test_what_was_removed_and_comes_back_is_new_again(board: Board) -> None:
    runs = [await board.whole_run(keys) for keys in ("ab", "a", "a", "ab", "ab")]
    told = [(await board.seen(run)).get("b") for run in runs]
    assert told == ["new", "removed", None, "new", "same"]


async def test_what_another_search_saw_is_not_new_where_it_was_never_removed(board: Board) -> None:
    await board.whole_run("ab")
    other = await board.whole_run("a", search_term="waiter")
    assert await board.seen(other) == {"a": "same"}
