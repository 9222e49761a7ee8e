"""Two API processes on one database, and writers that commit late: one story, whoever tells it."""

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import pytest
from websockets.asyncio.client import connect

from cli.running import Running, environment

MAIN = "from curtsy.cli import main\nmain()\n"
WITHOUT_THE_RULE = """
from curtsy.store.dialects import Postgres
Postgres.fragments = {**Postgres.fragments, "settled": "true"}
"""
"""An event counts as soon as it is seen, whatever is still open that began before it."""
ROUNDS = 3
LONG = 60
A_WHILE = 2.0
"""Seconds in which one who does not wait for open transactions hears of what came after them."""


@contextmanager
def server(folder: Path, url: str, program: str) -> Iterator[Running]:
    log = folder / f"api{len(list(folder.iterdir()))}.log"
    settings = {"database_url": url, "api_port": 0, "log_format": "json", "db_pool_size": 4}
    with log.open("wb") as to:
        process = subprocess.Popen([sys.executable, "-c", program, "api"], cwd=folder, stdout=to,
                                   stderr=to, env=environment(**settings))  # fmt: skip
    try:
        yield Running(process, log)
    finally:
        process.kill()
        process.wait()


@pytest.fixture(params=["", WITHOUT_THE_RULE], ids=["with the rule", "without"])
def servers(
    request: pytest.FixtureRequest, tmp_path: Path, postgres_url: str
) -> Iterator[tuple[list[str], bool]]:
    program = request.param + MAIN
    with (
        server(tmp_path, postgres_url, program) as one,
        server(tmp_path, postgres_url, program) as two,
    ):
        yield [one.url, two.url], not request.param


class ChildProcess:
    """Hears of all jobs, now from the one server and now from the other."""

    def __init__(self, urls: list[str]) -> None:
        self._urls, self._place = urls, "0-0"
        self.heard: list[tuple[str, str]] = []
        """Each event's job and name."""

    @asynccontextmanager
    async def at(self, number: int) -> AsyncIterator[None]:
        url = self._urls[number % 2].replace("http://", "ws://") + f"/ws?after={self._place}"
        async with connect(url) as socket:
            reading = asyncio.create_task(self._read(socket))
            yield
            reading.cancel()
            with suppress(asyncio.CancelledError):
                await reading

    async def _read(self, socket: Any) -> None:
        async for message in socket:
            told = json.loads(message)
            self._place = told["seq"]
            if told["event"] != "state":
                self.heard.append((told["job_id"], told["event"]))

    async def hears(self, what: tuple[str, str], seconds: float) -> bool:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while what not in self.heard:
                    await asyncio.sleep(0.02)
        return what in self.heard


LATE = """
    WITH told AS (UPDATE jobs SET last_event = last_event + 1 WHERE public_id = $1
                  RETURNING id, last_event)
    INSERT INTO events (xid, job_id, n, at, name, data)
    SELECT CAST(CAST(pg_current_xact_id() AS text) AS bigint), id, last_event, 1, 'job_late',
           '{"job": ["queued", 0, 0, 0, 1]}' FROM told
"""


async def submitted(http: httpx.AsyncClient, server: str, page: str) -> str:
    body = {"articles": [{"url": f"http://{page}.example/"}]}
    return str((await http.post(f"{server}/jobs/submit", json=body)).json()["job_id"])


async def story(urls: list[str], database: str, *, waits: bool) -> tuple[ChildProcess, set[Any]]:
    """A writer draws its place and commits after others that came later; and again."""
    reader, told = ChildProcess(urls), set()
    async with httpx.AsyncClient(timeout=LONG) as http:
        for number in range(ROUNDS):
            here, there = urls[number % 2], urls[(number + 1) % 2]
            first = await submitted(http, here, f"first{number}")
            late = await asyncpg.connect(database)
            begun = late.transaction()
            await begun.start()
            await late.execute(LATE, first)
            async with reader.at(number):
                assert await reader.hears((first, "job_queued"), LONG)
                after = await submitted(http, there, f"after{number}")
                await reader.hears((after, "job_queued"), A_WHILE if waits else LONG)
                await begun.commit()
                last = await submitted(http, here, f"last{number}")
                assert await reader.hears((last, "job_queued"), LONG)
            await late.close()
            told |= {(job, "job_queued") for job in (first, after, last)} | {(first, "job_late")}
    return reader, told


async def test_two_servers_tell_one_story(
    servers: tuple[list[str], bool], postgres_url: str
) -> None:
    """Every event once; but without the rule that the open ones are waited for, some are missed."""
    urls, waits = servers
    reader, told = await story(urls, postgres_url, waits=waits)
    assert len(reader.heard) == len(set(reader.heard)), "none is told twice"
    if waits:
        assert set(reader.heard) == told
    else:
        assert told - set(reader.heard) == {one for one in told if one[1] == "job_late"}
