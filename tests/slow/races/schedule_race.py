"""Many who keep the same few schedules, and people who change them meanwhile; all random, from one
seed. Then nothing may have fired twice, and no job may wait for a slot that never comes."""

import asyncio
import itertools
import random
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from curtsy.clock import MINUTE, SECOND
from curtsy.errors import BadRequest, NotFound, WrongState
from curtsy.jobs import JobRequest, PageRequest, cancel
from curtsy.schedules.first_job import create_with_job
from curtsy.schedules.lookup import id_of, locked
from curtsy.schedules.overlap import replace_manually
from curtsy.schedules.schedule import (
    ScheduleSpec,
    change,
    create,
    remove,
    run_now,
    set_enabled,
    spec_of,
)
from curtsy.schedules.verdict import CatchUp, Overlap
from curtsy.store import Connection, Store
from curtsy.timetable import Every, Once, Rule
from support.frontier import START
from support.promises import violations
from support.schedules import LIMITS, Hand, firer, ticker
from support.sql import run, text

NAMES = [f"s{n}" for n in range(6)]
TURNS = 10
"""Of each actor."""
STEP = 5 * SECOND
"""The clock goes on by so much whenever somebody looks at it."""
BEFORE_NOW = 40 * SECOND
"""So long ago some of them looked at it: they waited for a lock, or their machine stood still."""
_JOBS = text("SELECT public_id FROM jobs WHERE finished_at IS NULL ORDER BY id DESC LIMIT 8")
_WAITING = text("SELECT public_id FROM jobs WHERE state = 'scheduled' ORDER BY id DESC LIMIT 3")
_SEE = (
    "CREATE TABLE IF NOT EXISTS seen (what text)",
    """
    CREATE OR REPLACE FUNCTION see_job() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF NEW.schedule_id IS NOT NULL AND NEW.state = 'queued' AND EXISTS (
            SELECT 1 FROM jobs j JOIN schedules s ON s.id = j.schedule_id
            WHERE j.schedule_id = NEW.schedule_id AND j.id <> NEW.id AND j.finished_at IS NULL
              AND j.state <> 'scheduled' AND s.overlap <> 'allow') THEN
            INSERT INTO seen VALUES ('a run of schedule ' || NEW.schedule_id || ' came beside one');
        END IF;
        RETURN NULL; END $$
    """,
    "DROP TRIGGER IF EXISTS see_job ON jobs",
    """
    CREATE TRIGGER see_job AFTER INSERT OR UPDATE OF state ON jobs
    FOR EACH ROW WHEN (NEW.state = 'queued') EXECUTE FUNCTION see_job()
    """,
    "TRUNCATE seen",
)
_PROMISES = {
    "a slot has one job": """
        SELECT schedule_id, fire_at, count(*) FROM firings GROUP BY schedule_id, fire_at
        HAVING count(*) > 1""",
    "a job is of one slot": """
        SELECT job_id, count(*) FROM firings WHERE job_id IS NOT NULL GROUP BY job_id
        HAVING count(*) > 1""",
    "a slot that fired has its job, and no other has one": """
        SELECT schedule_id, fire_at, outcome, job_id FROM firings
        WHERE (outcome = 'fired') <> (job_id IS NOT NULL)""",
    "a slot's job is of its schedule": """
        SELECT f.schedule_id, j.schedule_id, j.id FROM firings f JOIN jobs j ON j.id = f.job_id
        WHERE j.schedule_id <> f.schedule_id OR j.trigger <> f.trigger""",
    "a job of a schedule that is there has a slot, or waits for one": """
        SELECT j.id, j.state, j.trigger, s.name FROM jobs j JOIN schedules s ON s.id = j.schedule_id
        WHERE j.total > 0 AND NOT EXISTS (SELECT 1 FROM firings f WHERE f.job_id = j.id)""",
    "a job that waits for a slot is its schedule's first": """
        SELECT j.id, s.first_job, s.name FROM jobs j LEFT JOIN schedules s ON s.id = j.schedule_id
        WHERE j.state = 'scheduled' AND s.first_job IS DISTINCT FROM j.public_id""",
    "a job that waits for a slot waits for one that comes, or is paused": """
        SELECT j.id, s.name FROM jobs j JOIN schedules s ON s.first_job = j.public_id
        WHERE j.state = 'scheduled' AND s.enabled AND s.look_at IS NULL""",
    "a slot that waits is its schedule's": """
        SELECT f.schedule_id, f.fire_at FROM firings f JOIN schedules s ON s.id = f.schedule_id
        WHERE f.outcome = 'waiting' AND s.waiting_fire_at IS DISTINCT FROM f.fire_at""",
    "a job that came in has what its door gives it": """
        SELECT j.id, j.door FROM jobs j WHERE j.total > 0
          AND (j.door = 'crawl') <> EXISTS (SELECT 1 FROM crawls c WHERE c.job_id = j.id)""",
    "nothing fires before its slot": """
        SELECT schedule_id, fire_at, fired_at FROM firings
        WHERE fired_at < fire_at AND trigger = 'schedule' AND outcome = 'fired'""",
    "no run came beside another that forbids it": "SELECT what FROM seen",
    "no run gave way to its own slot": """
        SELECT f.schedule_id, f.fire_at, f.job_id FROM firings f
        JOIN events e ON e.job_id = f.job_id AND e.name = 'job_cancelled'
        WHERE e.data LIKE '%The slot of ' || to_char(to_timestamp(f.fire_at / 1000.0)
            AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || ' took%'""",
}  # fmt: skip


class ScheduleRace:
    def __init__(self, seed: int, stores: Sequence[Store]) -> None:
        self._seed, self._stores = seed, iter(stores)
        ticks = itertools.count(START, STEP)
        self.now: Callable[[], int] = lambda: next(ticks)
        self._urls = itertools.count()

    def _rng(self, actor: str) -> random.Random:
        return random.Random(f"{self._seed} {actor}")

    async def run(self) -> list[str]:
        """All broken promises; empty when all is well."""
        last = next(self._stores)
        await last.write(_open_eyes)
        maker = self._rng("first")
        for name in NAMES:
            await self._make(last, maker, name)
        actors: list[Awaitable[None]] = [self._firer(f"firer {n}") for n in range(3)]
        actors += [self._scheduler(f"scheduler {n}") for n in range(2)]
        actors += [self._people(f"people {n}") for n in range(4)]
        actors += [self._ender("ender"), self._canceller("canceller")]
        ends = await asyncio.gather(*actors, return_exceptions=True)
        if errors := [end for end in ends if isinstance(end, Exception)]:
            raise ExceptionGroup(f"seed {self._seed}", errors)
        return await last.read(broken)

    async def _firer(self, name: str) -> None:
        rng, store = self._rng(name), next(self._stores)
        for _ in range(4 * TURNS):
            hand = Hand(self.now())
            await store.write(lambda c: firer(hand.clock).fire_due(c, now=hand.at))  # noqa: B023
            await asyncio.sleep(rng.uniform(0, 0.01))

    async def _scheduler(self, name: str) -> None:
        """With all that belongs to a tick: runs in the way, what breaks, one by one."""
        rng, store = self._rng(name), next(self._stores)
        for _ in range(2 * TURNS):
            await ticker(store, Hand(self.now()).clock).tick()
            await asyncio.sleep(rng.uniform(0, 0.01))

    async def _people(self, name: str) -> None:
        rng, store = self._rng(name), next(self._stores)
        ways = [self._by_hand, self._by_hand, self._pause, self._pause, self._change,
                self._change, self._change, self._remove, self._make, self._make]  # fmt: skip
        for _ in range(2 * TURNS):
            with suppress(NotFound, WrongState, BadRequest):
                await rng.choice(ways)(store, rng, rng.choice(NAMES))
            await asyncio.sleep(rng.uniform(0, 0.01))

    async def _by_hand(self, store: Store, _rng: random.Random, name: str) -> None:
        """If something is in its way, that gives way first, where it does."""
        hand = Hand(self.now())
        fires = firer(hand.clock)
        with suppress(WrongState):
            await store.write(lambda c: run_now(c, _id(c, name), fires, now=hand.at) and None)
            return
        if await store.write(lambda c: replace_manually(c, _id(c, name), fires, now=hand.at)):
            await store.write(lambda c: run_now(c, _id(c, name), fires, now=hand.at) and None)

    async def _pause(self, store: Store, rng: random.Random, name: str) -> None:
        now, enabled = self.now() - rng.choice([0, BEFORE_NOW]), rng.random() < 0.6
        await store.write(lambda c: set_enabled(c, _held(c, name), enabled=enabled, now=now))

    async def _change(self, store: Store, rng: random.Random, name: str) -> None:
        now = self.now() - rng.choice([0, BEFORE_NOW])
        rule, catch_up = self._rule(rng, now), rng.choice(list(CatchUp))
        url = f"https://c.example/{next(self._urls) % 4}"
        other = rng.choice([None, {"fetch": {"url": url}}, self._crawl(url)])

        def work(connection: Connection) -> None:
            before = spec_of(_held(connection, name))
            plan = replace(before, rule=rule, catch_up=catch_up, payload=other or before.payload)
            change(connection, _id(connection, name), plan, now=now)

        await store.write(work)

    async def _remove(self, store: Store, _rng: random.Random, name: str) -> None:
        now = self.now()
        await store.write(lambda c: remove(c, _id(c, name), now=now))

    async def _make(self, store: Store, rng: random.Random, name: str) -> None:
        """Half of them with a job that waits for the first slot."""
        now, url = self.now(), f"https://{rng.choice('ab')}.example/{next(self._urls) % 4}"
        plan = ScheduleSpec(
            name=name, rule=self._rule(rng, now), payload=self._crawl(url),
            overlap=list(Overlap)[int(name[1:]) % len(Overlap)],
            catch_up=rng.choice(list(CatchUp)), window=rng.choice([5 * MINUTE, 60 * MINUTE]),
        )  # fmt: skip
        request = JobRequest("crawl", [PageRequest(url)], tags=("news",))
        if rng.random() < 0.5:
            await store.write(lambda c: create_with_job(c, plan, request, LIMITS, now=now) and None)
        else:
            await store.write(lambda c: create(c, plan, now=now) and None)

    @staticmethod
    def _crawl(url: str) -> dict[str, Any]:
        return {"crawl": {"spider": "raw", "start_urls": [url], "tags": ["news"]}}

    @staticmethod
    def _rule(rng: random.Random, now: int) -> Rule:
        soon = now + rng.randint(1, 120) * SECOND
        return rng.choice([Every(1), Every(1), Every(2, jitter=False), Once(soon),
                           Every(1, after_end=True)])  # fmt: skip

    async def _ender(self, name: str) -> None:
        """Runs end: for a schedule it is the same whether they did their work."""
        await self._cancels(name, _JOBS, 5 * TURNS)

    async def _canceller(self, name: str) -> None:
        """Of jobs that wait for their slot."""
        await self._cancels(name, _WAITING, 2 * TURNS)

    async def _cancels(self, name: str, which: Any, turns: int) -> None:
        rng, store = self._rng(name), next(self._stores)
        for _ in range(turns):
            jobs = await store.read(lambda c: list(run(c, which).scalars()))
            now = self.now()
            if jobs:
                job = rng.choice(jobs)
                with suppress(NotFound, WrongState):
                    await store.write(lambda c: cancel(c, job, now=now))  # noqa: B023
            await asyncio.sleep(rng.uniform(0, 0.01))


def _open_eyes(connection: Connection) -> None:
    for statement in _SEE:
        run(connection, text(statement))


def broken(connection: Connection) -> list[str]:
    found = []
    for promise, offenders in _PROMISES.items():
        if rows := run(connection, text(offenders)).all()[:5]:
            found.append(f"not true that {promise}: {[tuple(r) for r in rows]}")
    return found + violations(connection)


def _id(connection: Connection, name: str) -> str:
    return id_of(connection, name, user=None, sees_all=True)


def _held(connection: Connection, name: str) -> Any:
    return locked(connection, _id(connection, name))
