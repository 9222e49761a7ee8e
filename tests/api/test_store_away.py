import asyncio
import sqlite3
from pathlib import Path

import asyncpg

from api.front import Answer, Front, assert_problem, front
from curtsy.clock import Clock
from curtsy.store import Store
from support.engine import engine, until

PAGE = "http://example.com/"


def _away(answer: Answer) -> None:
    assert answer.seconds < 2
    assert_problem(answer, 503, "store_away")
    assert answer.headers["retry-after"] == "2"


async def _taken(door: Front) -> None:
    async def taken() -> bool:
        return (await door.submit(PAGE)).status == 201

    await until(taken, 10, lambda: "the API has not recovered")


async def test_a_database_that_hangs_is_answered_for_within_two_seconds(postgres_url: str) -> None:
    clock = Clock()
    async with (
        Store(postgres_url, pool_size=4) as store,
        front(store, engine(store, clock)) as door,
    ):
        job = (await door.submit(PAGE)).json["id"]
        hanging = await asyncpg.connect(postgres_url)
        await hanging.execute("BEGIN; LOCK TABLE jobs, items, workers IN ACCESS EXCLUSIVE MODE")

        asked = [door.submit(f"{PAGE}{n}") for n in range(20)]
        asked += [door.get("/jobs"), door.get(f"/jobs/{job}"), door.delete(f"/jobs/{job}")]
        health, *answers = await asyncio.gather(door.get("/health"), *asked)
        for answer in answers:
            _away(answer)
        assert (health.status, health.json["store"]) == (503, "away")
        assert health.seconds < 2

        await hanging.execute("ROLLBACK")
        await hanging.close()
        await _taken(door)
        assert (await door.get(f"/jobs/{job}")).json["status"] == "queued"


async def test_a_locked_file_is_answered_for_within_two_seconds(sqlite_url: str) -> None:
    async with Store(sqlite_url) as store, front(store, engine(store, Clock())) as door:
        job = (await door.submit(PAGE)).json["id"]
        other = sqlite3.connect(Path(sqlite_url.removeprefix("sqlite:///")))
        other.execute("BEGIN IMMEDIATE")

        asked = [door.submit(PAGE) for _ in range(5)]
        for answer in await asyncio.gather(door.delete(f"/jobs/{job}"), *asked):
            _away(answer)
        assert (await door.get(f"/jobs/{job}")).status == 200, "reading goes on"

        other.rollback()
        other.close()
        await _taken(door)
