"""Whoever touches several sources or jars takes them in one order, whatever order they lie in."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from curtsy.frontier.control import release_strays
from curtsy.frontier.cookie_jars import delete_jars_of, delete_old_jars
from curtsy.frontier.worker_rows import reap, wake_forgotten
from curtsy.store import Connection
from curtsy.store.greenlet_bridge import wait_for
from support.frontier import START, Bench
from support.holding import Repeats, blocked_or_done
from support.sql import run, text

SOURCES = text(
    "SELECT id FROM sources WHERE id BETWEEN :first AND :last ORDER BY id FOR NO KEY UPDATE"
)
BACKWARDS = (
    """
    INSERT INTO sources (id, name, created_at)
    SELECT n, chr(107 - n) || '.example', 1 FROM generate_series(10, 1, -1) n
    """,
    "INSERT INTO hosts (host, source_id, created_at) SELECT name, id, 1 FROM sources",
)
OWNED = "UPDATE sources SET owner = 'w_gone', epoch = 1"
PARKED = "UPDATE sources SET ready_at = NULL"


def _as_they_lie(connection: Connection) -> None:
    """The planner may come to read the table from its beginning at any time."""
    for way in ("indexscan", "bitmapscan", "mergejoin", "nestloop"):
        run(connection, text(f"SET LOCAL enable_{way} = off"))


def sweeps(connection: Connection) -> Any:
    return wake_forgotten(connection, now=START)


def reaps(connection: Connection) -> Any:
    return reap(connection, [], now=START)


def gives_back(connection: Connection) -> Any:
    ours = run(connection, text("SELECT id, epoch FROM sources ORDER BY id DESC")).all()
    return release_strays(connection, [tuple(row) for row in ours], worker="w_gone", now=START)


@pytest.mark.parametrize(
    ("before", "work"), [(PARKED, sweeps), (OWNED, reaps), (OWNED, gives_back)]
)
async def test_it_never_waits_for_one_that_waits_for_it(
    bench: Bench, repeats: Repeats, before: str, work: Callable[[Connection], Any]
) -> None:
    for made in BACKWARDS:
        await bench.execute(made)
    await bench.job(*(f"https://{letter}.example/" for letter in "abcdefghij"))
    await bench.execute(before)
    has_first, go = asyncio.Event(), asyncio.Event()

    def in_order(connection: Connection) -> None:
        """As a flush does that tells of all."""
        run(connection, SOURCES, {"first": 1, "last": 1})
        has_first.set()
        wait_for(go.wait())
        run(connection, SOURCES, {"first": 2, "last": 10})

    flushing = asyncio.create_task(bench.store.write(in_order))
    await has_first.wait()
    working = asyncio.create_task(bench.store.write(lambda c: _as_they_lie(c) or work(c)))
    await blocked_or_done(bench.store, working)
    go.set()
    await asyncio.gather(flushing, working)
    assert repeats.told == []


JARS = text(
    """
    SELECT session, source_id FROM cookie_jars WHERE source_id BETWEEN :first AND :last
    ORDER BY session, source_id FOR UPDATE
    """
)
JARS_BACKWARDS = """
    INSERT INTO cookie_jars (session, source_id, cookies, job_id, updated_at)
    SELECT 'job_1', n, '[]', CASE WHEN n = 0 THEN 1 END, 1000 - n FROM generate_series(10, 0, -1) n
"""


def ages(connection: Connection) -> Any:
    return delete_old_jars(connection, before=START, most=100)


def ends(connection: Connection) -> Any:
    return delete_jars_of(connection, [1])


@pytest.mark.parametrize("deletes", [ages, ends])
async def test_jars_are_deleted_in_the_order_in_which_they_are_written(
    bench: Bench, repeats: Repeats, deletes: Callable[[Connection], Any]
) -> None:
    await bench.execute(JARS_BACKWARDS)
    has_first, go = asyncio.Event(), asyncio.Event()

    def in_order(connection: Connection) -> None:
        run(connection, JARS, {"first": 0, "last": 0})
        has_first.set()
        wait_for(go.wait())
        run(connection, JARS, {"first": 1, "last": 10})

    writing = asyncio.create_task(bench.store.write(in_order))
    await has_first.wait()
    deleting = asyncio.create_task(bench.store.write(lambda c: _as_they_lie(c) or deletes(c)))
    await blocked_or_done(bench.store, deleting)
    go.set()
    await asyncio.gather(writing, deleting)
    assert repeats.told == []
    assert await bench.rows("SELECT 1 FROM cookie_jars") == []
