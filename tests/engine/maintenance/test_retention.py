"""Cleanup forgets what sites have not had for long, and nothing that a run is compared with."""

import pytest

from curtsy.clock import DAY
from curtsy.maintenance import cleanup as cleaning
from curtsy.maintenance.tasks import MaintenanceTasks
from curtsy.sites import retention
from curtsy.sites.site import remove_site
from curtsy.timetable import Cron
from support.frontier import Bench
from support.schedules import made
from support.sites import Board

SEEN = """
    INSERT INTO sightings (job_id, key, position, change, data) VALUES (:job, :key, 0, 'new', '{}')
"""


async def cleanup(bench: Bench) -> str:
    every = MaintenanceTasks(store=bench.store, clock=bench.clock, keep_days=30).by_name()
    return await every["cleanup"]()


async def kept(bench: Bench) -> str:
    rows = await bench.rows("SELECT key FROM records ORDER BY key")
    return "".join(row.key for row in rows)


async def runs(bench: Bench) -> list[str]:
    rows = await bench.rows("SELECT public_id FROM jobs ORDER BY id")
    return [row.public_id for row in rows]


async def test_what_a_site_has_not_had_for_long_is_forgotten(bench: Bench, board: Board) -> None:
    first = await board.whole_run("abc")
    later = []
    for _ in range(4):
        bench.time.moves(10 * DAY)
        later.append(await board.whole_run("ab"))
    assert "1 job " in (told := await cleanup(bench))
    assert "1 record " in told
    assert await kept(bench) == "ab"
    assert await runs(bench) == later
    assert await board.seen(first) == {}
    again = await board.whole_run("abc")
    assert await board.seen(again) == {"a": "same", "b": "same", "c": "new"}


async def test_what_was_seen_within_the_days_stays_though_it_was_removed(
    bench: Bench, board: Board
) -> None:
    await board.whole_run("abc")
    bench.time.moves(29 * DAY)
    await board.whole_run("ab")
    bench.time.moves(1)
    await cleanup(bench)
    assert await kept(bench) == "abc"


async def test_a_site_that_was_paused_for_months_is_compared_with_what_it_was(
    bench: Bench, board: Board
) -> None:
    whole = await board.whole_run("ab")
    bench.time.moves(DAY)
    other = await board.whole_run("xy", search_term="waiter")
    bench.time.moves(200 * DAY)
    await cleanup(bench)
    assert await runs(bench) == [whole, other]
    assert await board.seen(await board.whole_run("ac")) == {
        "a": "same",
        "c": "new",
        "b": "removed",
    }
    found = await board.seen(await board.whole_run("x", search_term="waiter"))
    assert found == {"x": "same", "y": "removed"}


async def test_what_only_a_run_with_failures_saw_is_known_after_a_pause_too(
    bench: Bench, board: Board
) -> None:
    run = await board.run()
    await board.fetch("ab", "cd", "")
    await board.fail()
    await board.gather()
    assert (await board.told(run)).state == "partial"
    bench.time.moves(200 * DAY)
    await cleanup(bench)
    assert await runs(bench) == []
    assert set((await board.seen(await board.whole_run("abcd"))).values()) == {"same"}


async def test_the_last_run_of_a_schedule_stays_while_others_go_on(
    bench: Bench, board: Board
) -> None:
    """Such as one that comes once in a quarter."""
    rare = await board.whole_run("xy", search_term="waiter")
    row = await made(bench.store, bench.clock, Cron("0 0 1 */3 *"))
    await bench.execute("UPDATE jobs SET schedule_id = :id", id=row.id)
    for _ in range(9):
        bench.time.moves(10 * DAY)
        await board.whole_run("ab")
    await cleanup(bench)
    assert (rare in await runs(bench), await kept(bench)) == (True, "abxy")
    again = await board.whole_run("x", search_term="waiter")
    assert await board.seen(again) == {"x": "same", "y": "removed"}


async def test_a_search_that_nobody_makes_any_more_is_forgotten(bench: Bench, board: Board) -> None:
    await board.whole_run("xy", search_term="waiter")
    for _ in range(4):
        bench.time.moves(10 * DAY)
        last = await board.whole_run("ab")
    await cleanup(bench)
    assert await kept(bench) == "ab"
    bench.time.moves(200 * DAY)
    await cleanup(bench)
    assert (await runs(bench), await kept(bench)) == ([last], "ab")


async def test_a_site_that_truly_has_nothing_forgets_what_it_had(
    bench: Bench, board: Board
) -> None:
    await board.whole_run("ab")
    bench.time.moves(31 * DAY)
    last = await board.whole_run("")
    await cleanup(bench)
    assert (await runs(bench), await kept(bench)) == ([last], "")


async def test_runs_of_a_site_that_is_forgotten_go(bench: Bench, board: Board) -> None:
    await board.whole_run("ab")
    await bench.store.write(lambda c: remove_site(c, "board") and None)
    bench.time.moves(31 * DAY)
    await cleanup(bench)
    assert await runs(bench) == []
    assert await bench.rows("SELECT * FROM sightings") == []


async def test_sightings_of_runs_that_are_gone_go_batch_by_batch(
    bench: Bench, board: Board, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (retention, cleaning):
        monkeypatch.setattr(module, "BATCH", 2)
    run = await board.whole_run("ab")
    for job in range(1_000, 1_005):
        for key in "abcde":
            await bench.execute(SEEN, job=job, key=key)
    await cleanup(bench)
    [left] = await bench.rows("SELECT DISTINCT job_id FROM sightings")
    assert (await board.told(run)).id == left.job_id


async def test_old_records_go_batch_by_batch(
    bench: Bench, board: Board, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (retention, cleaning):
        monkeypatch.setattr(module, "BATCH", 2)
    await board.whole_run("abcdefg")
    for _ in range(2):
        bench.time.moves(31 * DAY)
        await board.whole_run("g")
    assert "6 records" in await cleanup(bench)
    assert await kept(bench) == "g"
