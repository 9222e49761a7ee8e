"""The primary dies under load with all its processes, and its standby is promoted."""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import aiohttp
import asyncpg
import pytest

from chaos.client import Client
from chaos.conftest import upgraded
from chaos.replicas import Pair, pair
from chaos.world import World, world
from curtsy.demo.process import PracticeProcess
from curtsy.store import Connection
from support.engine import until
from support.patience import PATIENCE
from support.postgres import free_port
from support.processes import Fleet
from support.sql import run, text

SUBMITTERS = 8
A_MOMENT = 0.5
BEFORE, AFTER = 100, 100
"""Pages stored before the death and after the promotion."""
AWAY = [float(seconds) for seconds in os.environ.get("FAILOVER_AWAY", "4").split()]
"""Seconds between the death and the promotion of each round: here two leases, beyond trust."""


@pytest.fixture
def servers() -> Iterator[Pair]:
    with pair("curtsy") as made:
        upgraded(made.url("curtsy"))
        yield made


@dataclass
class Load:
    """Clients that submit one page after another, and repeat what nobody answered."""

    made: World
    client: Client
    acknowledged: list[float] = field(default_factory=list)
    ended: bool = False

    async def submit(self) -> None:
        while not self.ended:
            (url,) = self.made.pages(1, 1)
            host = self.made.rng.randrange(60)
            job = await self.client.submitted(url.replace(url.split("/")[2], self._host(host)))
            self.acknowledged.append(time.monotonic())
            self.made.jobs.append(job)
            await asyncio.sleep(self.made.rng.uniform(0.05, 0.15))

    def _host(self, number: int) -> str:
        return self.made.site.url(number, "/").split("/")[2]

    async def first_after(self, instant: float) -> float:
        async def answered() -> bool:
            return bool(self.acknowledged) and self.acknowledged[-1] > instant

        await until(answered, PATIENCE, self.made.tails)
        return min(at for at in self.acknowledged if at > instant) - instant


@dataclass
class Follower:
    """Follows all events, and resumes after each end of its stream."""

    url: str
    places: list[str] = field(default_factory=list)
    begins: str = ""
    resumed: int = -1

    async def follow(self) -> None:
        last = ""
        async with aiohttp.ClientSession() as session:
            while True:
                self.resumed += 1
                headers = {"Accept": "text/event-stream"} | (
                    {"Last-Event-ID": last} if last else {}
                )
                with suppress(aiohttp.ClientError, OSError):
                    async with session.get(self.url, headers=headers) as reply:
                        async for place, is_event in _places(reply):
                            last = place
                            self.begins = self.begins or place
                            if is_event:
                                self.places.append(place)
                await asyncio.sleep(0.5)


async def _places(reply: aiohttp.ClientResponse) -> AsyncIterator[tuple[str, bool]]:
    place, has_data = "", False
    async for raw in reply.content:
        line = raw.decode().rstrip("\n")
        if line.startswith("id: "):
            place = line.removeprefix("id: ")
        has_data = has_data or line.startswith("data: ")
        if not line and place:
            yield place, has_data
            place, has_data = "", False


def events_after(connection: Connection, place: str) -> list[str]:
    xid, seq = map(int, place.split("-"))
    sql = text("SELECT xid, seq FROM events WHERE (xid, seq) > (:xid, :seq) ORDER BY xid, seq")
    return [f"{row.xid}-{row.seq}" for row in run(connection, sql, {"xid": xid, "seq": seq})]


@asynccontextmanager
async def at_work(made: World) -> AsyncIterator[tuple[Load, Follower]]:
    """Two workers, a scheduler and an API, under load and followed."""
    port = free_port()
    api = made.fleet.api(port, db_pool_size=10)
    made.fleet.scheduler()
    for _ in range(2):
        made.fleet.worker()
    await until(lambda: _has_started(api), PATIENCE, api.tail)
    follower = Follower(f"http://127.0.0.1:{port}/events")
    following = asyncio.create_task(follower.follow())
    async with Client(port) as client:
        load = Load(made, client)
        submitters = [asyncio.create_task(load.submit()) for _ in range(SUBMITTERS)]
        try:
            yield load, follower
            load.ended = True
            await asyncio.wait_for(asyncio.gather(*submitters), PATIENCE)
            await made.all_ended(2 * PATIENCE)
            await until(lambda: _has_all(made, follower), PATIENCE, lambda: "events are missing")
        finally:
            for task in (*submitters, following):
                task.cancel()


async def _has_started(api: object) -> bool:
    return bool(api.logged("api_started"))  # type: ignore[attr-defined]


async def _has_all(made: World, follower: Follower) -> bool:
    stored = await made.store.read(lambda c: events_after(c, follower.begins))
    return len(follower.places) >= len(stored)


async def stored_on(pair: Pair) -> int:
    """How many results the standby has, before it is promoted."""
    connection = await asyncpg.connect(pair.standby.url("curtsy"), timeout=5)
    try:
        return int(await connection.fetchval("SELECT count(*) FROM attempts"))
    finally:
        await connection.close()


@pytest.mark.timeout(400)
@pytest.mark.parametrize("away", AWAY)
async def test_nothing_acknowledged_is_lost_with_the_primary_and_work_goes_on_by_itself(
    servers: Pair, practice: PracticeProcess, tmp_path: Path, away: float
) -> None:
    url = servers.url("curtsy")
    with Fleet(tmp_path, url) as fleet:
        async with world(url, fleet, practice) as made:
            async with at_work(made) as (load, follower):
                await made.done(BEFORE)
                acknowledged = len(made.jobs)
                died = time.monotonic()
                servers.primary.die()
                if away:
                    await load.client.is_told_to_come_back()
                await asyncio.sleep(away - (time.monotonic() - died))
                stored = await stored_on(servers)
                promoted = time.monotonic()
                await asyncio.to_thread(servers.standby.promote)
                await made.done(stored + 1)
                page = time.monotonic() - promoted
                submit = await load.first_after(promoted)
                await made.done(stored + AFTER)
                unanswered = load.client.unanswered
            places = await made.store.read(lambda c: events_after(c, follower.begins))
            reckoning = await made.reckoning()
            gap = max(after - before for before, after in pairwise(load.acknowledged))
            print(
                f"away {promoted - died:.1f} s; after the promotion the first page was stored in "
                f"{page:.2f} s, the first submit accepted in {submit:.2f} s; no submit was "
                f"accepted for {gap:.1f} s, {unanswered} got no answer; {acknowledged} jobs "
                f"before, {len(made.jobs)} in all; {len(places)} events; the stream was resumed "
                f"{follower.resumed} times; {reckoning}"
            )
            assert reckoning.violations == []
            assert fleet.crashes() == []
            assert follower.places == places, "no event is missing, none comes twice"
            assert unanswered > 0 or not away, "the death went unnoticed"


@pytest.mark.timeout(300)
async def test_while_the_standby_is_silent_nothing_is_acknowledged_and_then_work_goes_on(
    servers: Pair, practice: PracticeProcess, tmp_path: Path
) -> None:
    """The primary may not promise what only it has. It could die next."""
    url = servers.url("curtsy")
    with Fleet(tmp_path, url) as fleet:
        async with world(url, fleet, practice) as made:
            async with at_work(made) as (load, follower):
                await made.done(BEFORE)
                with servers.standby.frozen():
                    await asyncio.sleep(A_MOMENT)  # what was on its way has arrived
                    jobs = await made.count("SELECT count(*) FROM jobs")
                    await asyncio.sleep(1.2 * fleet.lease)
                    assert await made.count("SELECT count(*) FROM jobs") == jobs
                    thawed = time.monotonic()
                submit = await load.first_after(thawed)
                await made.done(await made.count("SELECT count(*) FROM attempts") + BEFORE)
            places = await made.store.read(lambda c: events_after(c, follower.begins))
            reckoning = await made.reckoning()
            print(f"first submit accepted {submit:.2f} s after the standby was back; {reckoning}")
            assert reckoning.violations == []
            assert fleet.crashes() == []
            assert follower.places == places
            assert load.client.unanswered > 0
            assert fleet.logged("heartbeat_missed"), "trust had to end"
