import asyncio
import json
import sqlite3
from pathlib import Path

import asyncpg
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from api.front import Answer, Front, assert_problem, front
from curtsy.api.backend import ANSWER_WITHIN_SECONDS
from curtsy.clock import Clock
from curtsy.store import Store
from support.engine import engine, until
from support.patience import PATIENCE

PAGE = "http://example.com/"
SOON, IN_TIME = 0.5, 10.0
"""Seconds that the API waits for its store here, and within which that shows on any machine."""


def _away(answer: Answer) -> None:
    assert answer.seconds < IN_TIME
    assert_problem(answer, 503, "store_away")
    assert answer.headers["retry-after"] == "2"


async def _refused_with_503(url: str) -> None:
    """As a WebSocket: not that one may not, but that it does not work now."""
    with pytest.raises(InvalidStatus) as refused:
        async with connect(url.replace("http://", "ws://"), open_timeout=30):
            pass
    answer = refused.value.response
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "2")
    assert json.loads(answer.body or b"")["code"] == "store_away"


async def _taken(door: Front) -> None:
    async def taken() -> bool:
        return (await door.submit(PAGE)).status == 201

    await until(taken, 10, lambda: "the API has not recovered")


def test_two_seconds_are_enough_for_what_it_waits_and_the_way_there() -> None:
    assert ANSWER_WITHIN_SECONDS <= 1.6


async def test_a_database_that_hangs_is_answered_for_in_time(postgres_url: str) -> None:
    clock = Clock()
    async with (
        Store(postgres_url, pool_size=4) as store,
        front(store, engine(store, clock)) as door,
    ):
        job = (await door.submit(PAGE)).json["id"]
        hanging = await asyncpg.connect(postgres_url)
        await hanging.execute("BEGIN; LOCK TABLE jobs, items, workers IN ACCESS EXCLUSIVE MODE")
        door.backend.timed.answer_within = SOON

        asked = [door.submit(f"{PAGE}{n}") for n in range(20)]
        asked += [door.get("/jobs"), door.get(f"/jobs/{job}"), door.delete(f"/jobs/{job}")]
        health, *answers = await asyncio.gather(door.get("/health"), *asked)
        for answer in answers:
            _away(answer)
        assert (health.status, health.json["store"]) == (503, "away")
        assert health.seconds < IN_TIME
        await _refused_with_503(f"{door.url}/ws")
        await _refused_with_503(f"{door.url}/ws/jobs/{job}")

        await hanging.execute("ROLLBACK")
        await hanging.close()
        door.backend.timed.answer_within = PATIENCE
        await _taken(door)
        assert (await door.get(f"/jobs/{job}")).json["status"] == "queued"


async def test_a_locked_file_is_answered_for_in_time(sqlite_url: str) -> None:
    async with Store(sqlite_url) as store, front(store, engine(store, Clock())) as door:
        job = (await door.submit(PAGE)).json["id"]
        other = sqlite3.connect(Path(sqlite_url.removeprefix("sqlite:///")))
        other.execute("BEGIN IMMEDIATE")
        door.backend.timed.answer_within = SOON

        asked = [door.submit(PAGE) for _ in range(5)]
        for answer in await asyncio.gather(door.delete(f"/jobs/{job}"), *asked):
            _away(answer)
        door.backend.timed.answer_within = PATIENCE
        assert (await door.get(f"/jobs/{job}")).status == 200, "reading goes on"

        other.rollback()
        other.close()
        await _taken(door)
