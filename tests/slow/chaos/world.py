"""A database, a fleet and the practice site, with jobs going in; in the end all is reckoned."""

import asyncio
import itertools
import os
import random
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from chaos.reckoning import Reckoning, reckon, too_soon
from chaos.witness import call_witness
from curtsy.clock import Clock
from curtsy.demo.process import PracticeProcess
from curtsy.demo.truth import Entry
from curtsy.errors import Refused, StoreAway, StoreFull
from curtsy.frontier.clock_sync import synchronise
from curtsy.jobs import JobRequest, PageRequest, SubmitLimits, Submitter, cancel, retry_failures
from curtsy.store import Connection, Store
from support.departures import Departures, port_of
from support.engine import LOOPBACK, until
from support.patience import PATIENCE
from support.processes import Fleet, Process
from support.sql import run, text

LONG = 3_600_000
_numbers = itertools.count(1)
"""Pages of one test are not those of another: the site remembers whom it refused."""
_KINDS = (
    ("/page/{}", 78), ("/slow/300/{}", 5), ("/flaky/1/{}", 5), ("/reset/1/{}", 3),
    ("/missing/{}", 3), ("/redirect/1/{}", 3), ("/elsewhere/3/{}", 2), ("/flaky503/1/{}", 1),
)  # fmt: skip


class World:
    def __init__(self, *, store: Store, fleet: Fleet, site: PracticeProcess, seed: int) -> None:
        self.store, self.fleet, self.site = store, fleet, site
        self.rng = random.Random(seed)
        self.clock = Clock()
        limits = SubmitLimits(allow=LOOPBACK)
        self.submitter = Submitter(store=store, clock=self.clock, limits=limits,
                                   delay_ms=round(fleet.delay * 1000))  # fmt: skip
        self.jobs: list[str] = []
        self.departures = Departures(port_of(site))
        self._began = time.clock_gettime_ns(time.CLOCK_MONOTONIC)

    # Work

    def pages(self, hosts: int, each: int, *, plain: bool = False) -> list[str]:
        """So many pages on each of so many hosts, of all kinds or only ordinary ones."""
        kinds, weights = zip(*_KINDS, strict=True)
        made = []
        for host, _ in itertools.product(range(hosts), range(each)):
            kind = kinds[0] if plain else self.rng.choices(kinds, weights)[0]
            made.append(self.site.url(host, kind.format(next(_numbers))))
        self.rng.shuffle(made)
        return made

    @staticmethod
    def number() -> int:
        """Of a page that nobody asked for before."""
        return next(_numbers)

    async def submit(self, urls: list[str], *, max_age: int = 0, priority: int = 5) -> str:
        """Until it is acknowledged: asked again under the same key when no answer came."""
        pages = [PageRequest(url, priority) for url in urls]
        request = JobRequest(door="fetch", pages=pages, max_age=max_age,
                             idempotency_key=f"key-{self.rng.getrandbits(64):x}")  # fmt: skip
        while True:
            try:
                submitted = await self.submitter.submit(request)
            except (StoreAway, StoreFull):
                await asyncio.sleep(0.2)
            else:
                self.jobs.append(submitted.job)
                return submitted.job

    async def keep_busy(self, seconds: float, pool: list[str], *, most_waiting: int) -> None:
        """Jobs that share pages come in; now and then one is cancelled or its failures retried."""
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            with suppress(StoreAway):
                if await self.count("SELECT count(*) FROM visits") > most_waiting:
                    await asyncio.sleep(0.1)
                    continue
            urls = self.rng.sample(pool, self.rng.randint(20, 120))
            job = await self.submit(urls, max_age=self.rng.choice([0, 0, LONG]),
                                    priority=self.rng.choice([2, 5, 5, 9]))  # fmt: skip
            if self.rng.random() < 0.25:
                await self._try(cancel, self.rng.choice([job, self.rng.choice(self.jobs)]))
            if self.rng.random() < 0.25:
                await self._try(retry_failures, self.rng.choice(self.jobs))

    async def _try(self, change: object, job: str) -> None:
        """Whether it counted does not matter: either way every item must end once."""
        now = self.clock.now()
        with suppress(StoreAway, Refused):
            await self.store.write(lambda c: change(c, job, now=now), durable=True)  # type: ignore[operator]

    # Facts

    async def count(self, sql: str) -> int:
        return int(await self.store.read(lambda c: run(c, text(sql)).scalar_one()))

    async def execute(self, sql: str) -> None:
        await self.store.write(lambda c: run(c, text(sql)) and None)

    async def reaches(self, sql: str, number: int, seconds: float) -> None:
        found = -1

        async def fact() -> bool:
            nonlocal found
            with suppress(StoreAway):
                found = await self.count(sql)
            return found >= number

        await until(fact, seconds, lambda: f"{sql} gave {found}, not {number}: {self.tails()}")

    async def done(self, pages: int, seconds: float = PATIENCE) -> None:
        """So many results are recorded."""
        await self.reaches("SELECT count(*) FROM attempts", pages, seconds)

    async def all_ended(self, seconds: float) -> None:
        open_jobs = -1

        async def fact() -> bool:
            nonlocal open_jobs
            with suppress(StoreAway):
                open_jobs = await self.count(
                    "SELECT count(*) FROM jobs WHERE state IN ('queued', 'running')"
                )
            return open_jobs == 0

        with suppress(AssertionError):
            await until(fact, seconds, str)
            return
        left = await self.store.read(_what_waits)
        raise AssertionError(f"{open_jobs} jobs have not ended: {left} {self.tails()}")

    async def only_the_living(self, seconds: float = PATIENCE) -> None:
        """Everyone who was killed is also known to be dead."""
        alive = [process for process in self.fleet.workers if process.status is None]
        running = [process for process in self.fleet.processes if process.status is None]

        async def fact() -> bool:
            known = await self.count("SELECT count(*) FROM workers")
            return known == len(alive) and all(process.has_logged for process in running)

        await until(fact, seconds, lambda: f"not {len(alive)} workers: {self.tails()}")

    async def hosts_asked_too_soon(self, seconds: float = PATIENCE) -> None:
        """Some are, sooner or later, or it is a failure."""
        found: list[str] = []

        async def noticed() -> bool:
            found[:] = too_soon(self.entries(), self.fleet.delay, self.departures)
            return bool(found)

        ends = time.monotonic() + seconds
        while not await noticed():
            assert time.monotonic() < ends, self.tails()
            await asyncio.sleep(0.05)
        print(f"{len(found)} hosts asked too soon, as {found[:1]}")

    def entries(self) -> list[Entry]:
        """What the site saw since this world began."""
        return [entry for entry in self.site.entries() if entry.at >= self._began]

    def tails(self) -> str:
        return "\n".join(f"--- {p._log.name}\n{p.tail(12)}" for p in self.fleet.processes)

    # The end

    async def reckoning(self, seconds: float = PATIENCE) -> Reckoning:
        """Wait until all has ended, end the processes in order, and look at everything."""
        await self.all_ended(seconds)
        await self.only_the_living()
        codes = await self.fleet.stop()
        assert set(codes) <= {0}, f"exit codes {codes}: {self.tails()}"
        await asyncio.sleep(0.1)  # the site writes its log a moment later
        return await self.now_reckoned()

    async def now_reckoned(self) -> Reckoning:
        entries, jobs, delay = self.entries(), set(self.jobs), self.fleet.delay
        left = self.departures
        return await self.store.read(
            lambda c: reckon(c, entries, jobs, delay=delay, departures=left)
        )


async def said(process: Process, event: str) -> None:
    """Where the database did not answer in time as it started, it is started again."""

    async def fact() -> bool:
        if process.status is not None and "The database does not answer" in process.tail():
            process.start()
        return bool(process.logged(event))

    await until(fact, 30, process.tail)


def _what_waits(connection: Connection) -> str:
    """For whoever has to find out why something has not ended."""
    asked = {
        "items": "SELECT count(*) FROM items WHERE state = 0",
        "visits": "SELECT page_id, source_id, turn, due_at, attempt, crashes FROM visits LIMIT 5",
        "sources": """
            SELECT id, name, owner, epoch, ready_at, next_fetch_at, looks, crash_streak FROM sources
            WHERE id IN (SELECT source_id FROM visits) LIMIT 5""",
        "workers": "SELECT id, beat, pid FROM workers",
    }
    found = {what: run(connection, text(sql)).all() for what, sql in asked.items()}
    return "; ".join(f"{what} {[tuple(row) for row in rows]}" for what, rows in found.items())


@asynccontextmanager
async def world(
    url: str, fleet: Fleet, site: PracticeProcess, *, seed: int | None = None
) -> AsyncIterator[World]:
    chosen = int(os.environ.get("CHAOS_SEED", random.randrange(10**6))) if seed is None else seed
    print(f"CHAOS_SEED={chosen}")
    async with Store(url) as store:
        made = World(store=store, fleet=fleet, site=site, seed=chosen)
        await synchronise(store, made.clock)
        await store.write(call_witness)
        with made.departures:
            yield made
