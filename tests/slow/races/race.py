"""Many processes at once on a few pages: submits, crawls, cancels, retries, workers that die and
flush afterwards, a sweeper, and readers of events. All random, from one seed; then a clean worker
brings everything to its end, and nothing may be lost or counted twice."""

import asyncio
import itertools
import random
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

from curtsy.clock import Clock
from curtsy.errors import WrongState
from curtsy.events import stored_events as events
from curtsy.frontier import worker_rows
from curtsy.frontier.batch import Release, Result
from curtsy.frontier.host_moves import move_late_visits
from curtsy.frontier.source_policy import Description, PolicyContext, describe, forget
from curtsy.frontier.take import Visit
from curtsy.politeness.policy import Policy
from curtsy.store import Connection, Statement, Store
from curtsy.store.schema import metadata
from support.frontier import (
    DELAY,
    LONG,
    START,
    Bench,
    ScriptedWorker,
    again,
    failed,
    fetched,
    moved,
    rested,
    retried,
)
from support.sql import run, text

URLS = [f"https://{host}.example/{n}" for host in "ab" for n in range(3)]
TURNS = 7
"""Of each actor."""


@contextmanager
def hesitating(monkeypatch: pytest.MonkeyPatch, seed: int) -> Iterator[None]:
    """Every now and then a transaction waits in its middle, so that others come between."""
    rng = random.Random(f"{seed} hesitates")
    inner = Statement.__call__

    def slowly(self: Statement, connection: Connection, /, **values: Any) -> Any:
        if rng.random() < 0.15:
            connection.execute(f"SELECT pg_sleep({rng.uniform(0, 0.006):.4f})")
        return inner(self, connection, **values)

    with monkeypatch.context() as patch:
        patch.setattr(Statement, "__call__", slowly)
        yield


class Race:
    def __init__(self, seed: int, stores: list[Store]) -> None:
        self._seed, self._stores = seed, iter(stores)
        ticks = itertools.count(START, 20)
        self.now: Callable[[], int] = lambda: next(ticks)
        self.jobs: list[str] = []
        self.found: list[str] = []
        self._holders: dict[int, tuple[str, int]] = {}
        """Who may believe to hold a source, and how often sources were described before it got it;
        taken out before it gives it back or is reaped."""
        self._described = 0
        """Counted as each description begins and as it ends: odd while one is under way."""
        self._names = itertools.count(1)
        self._place, self._read = events.Place(0, 0), set[tuple[int, int]]()
        self._over = asyncio.Event()
        self.by_number: dict[int, int] = {}

    def _bench(self) -> Bench:
        """A process of its own: a store with its own connections."""
        bench = Bench(next(self._stores))
        bench.clock = Clock(monotonic=self.now, wall=lambda: START)
        bench.time = self.now  # type: ignore[assignment]
        bench.submitter = bench.submitter_with(bench.submitter.limits)
        return bench

    def _rng(self, actor: str) -> random.Random:
        return random.Random(f"{self._seed} {actor}")

    async def run(self) -> list[str]:
        """All broken promises; empty when all is well."""
        reading = asyncio.create_task(self._reader(self._bench()))
        try:
            await self._all_act()
            last = self._bench()
            before = await last.violations()
            if not before:
                await self._resume_all(last)
                await self._drain(last)
        finally:
            self._over.set()
            await reading
        left = await self._left(last)
        return [*self.found, *before, *await last.violations(), *left, *await self._unread(last)]

    async def _all_act(self) -> None:
        """To the end, whatever becomes of one of them; then all that went wrong is raised."""
        actors = [self._sweeper(self._bench())]
        for number in range(2):
            actors.append(self._submitter(self._bench(), f"submitter {number}"))
            actors.append(self._worker(self._bench(), f"worker {number}"))
            actors.append(self._follower(self._bench(), f"follower {number}"))
        actors.append(self._asker(self._bench(), "canceller", Bench.cancel))
        actors.append(self._asker(self._bench(), "retrier", Bench.retry))
        actors.append(self._asker(self._bench(), "pauser", Bench.pause))
        actors.append(self._asker(self._bench(), "resumer", Bench.resume))
        actors.append(self._letter_opener(self._bench(), "letter opener"))
        actors.append(self._describer(self._bench(), "describer"))
        ends = await asyncio.gather(*actors, return_exceptions=True)
        if errors := [end for end in ends if isinstance(end, Exception)]:
            raise ExceptionGroup(f"seed {self._seed}", errors)

    async def _submitter(self, bench: Bench, name: str) -> None:
        rng = self._rng(name)
        for _ in range(TURNS):
            together = [self._submit(bench, rng) for _ in range(rng.choice([1, 1, 3]))]
            self.jobs += await asyncio.gather(*together)
            await asyncio.sleep(rng.uniform(0, 0.02))

    def _submit(self, bench: Bench, rng: random.Random) -> Awaitable[str]:
        terms = {"priority": rng.randint(1, 10), "max_age": rng.choice([0, 0, LONG])}
        if rng.random() < 0.3:
            starts = rng.sample(URLS, rng.randint(1, 2))
            return bench.crawl(*starts, depth=rng.randint(1, 3), max_pages=5, **terms)
        return bench.job(*rng.sample(URLS, rng.randint(1, 4)), **terms)

    async def _follower(self, bench: Bench, name: str) -> None:
        rng = self._rng(name)
        for _ in range(3 * TURNS):
            await bench.follow_links()
            await asyncio.sleep(rng.uniform(0, 0.02))

    async def _asker(
        self, bench: Bench, name: str, ask: Callable[[Bench, str], Awaitable[int]]
    ) -> None:
        """Cancels or retries some job, which may have nothing to cancel or to retry."""
        rng = self._rng(name)
        for _ in range(2 * TURNS):
            if self.jobs:
                with suppress(WrongState):
                    await ask(bench, rng.choice(self.jobs[-6:]))
            await asyncio.sleep(rng.uniform(0, 0.02))

    async def _letter_opener(self, bench: Bench, name: str) -> None:
        """Retries whatever was given up, of all jobs at once."""
        rng = self._rng(name)
        for _ in range(TURNS):
            await bench.retry_letters()
            await asyncio.sleep(rng.uniform(0, 0.04))

    async def _describer(self, bench: Bench, name: str) -> None:
        """Says of the hosts that they belong together, that they do not, and what they allow."""
        rng = self._rng(name)
        for _ in range(2 * TURNS):
            around = PolicyContext(Policy(min_delay=DELAY), 100, self.now())
            hosts = rng.sample(["a.example", "b.example"], rng.randint(1, 2))
            wanted = Description("group", {"concurrency": rng.randint(1, 3)}, hosts)
            ask = rng.choice([lambda c, w=wanted, a=around: describe(c, w, a),
                              lambda c, a=around: forget(c, "group", a),
                              lambda c, a=around: move_late_visits(c, now=a.now)])  # fmt: skip
            self._described += 1  # a source that must wait is taken from whoever has it
            await bench.store.write(ask)
            self._described += 1
            await asyncio.sleep(rng.uniform(0, 0.02))

    async def _resume_all(self, bench: Bench) -> None:
        for job in self.jobs:
            with suppress(WrongState):
                await bench.resume(job)

    async def _sweeper(self, bench: Bench) -> None:
        for _ in range(TURNS):
            now = self.now()
            await bench.store.write(lambda c, now=now: worker_rows.reap(c, [], now=now))
            await bench.store.write(lambda c, now=now: worker_rows.wake_forgotten(c, now=now))
            await asyncio.sleep(0.01)

    # workers

    async def _new_worker(self, bench: Bench) -> ScriptedWorker:
        return await ScriptedWorker(bench.store, self.now, f"w{next(self._names)}").register()

    async def _worker(self, bench: Bench, name: str) -> None:
        rng = self._rng(name)
        worker = await self._new_worker(bench)
        for _ in range(2 * TURNS):
            await self._lease(worker, rng.randint(1, 2))
            visits = [v for v in await worker.take() if rng.random() < 0.8]
            results = [self._result(rng, v) for v in visits]
            if rng.random() < 0.2:
                await self._dies(worker, results)
                worker = await self._new_worker(bench)
            else:
                await self._tells(worker, results, rng)
            await asyncio.sleep(rng.uniform(0, 0.01))
        await self._dies(worker, [])

    async def _lease(self, worker: ScriptedWorker, want: int) -> None:
        described = self._described
        for lease in await worker.lease(want):
            holder, since = self._holders.get(lease.source_id, (None, 0))
            undisturbed = since == self._described and since % 2 == 0
            if holder is not None and undisturbed:
                self.found.append(f"{worker.name} leased {lease.name} while {holder} holds it")
            self._holders[lease.source_id] = worker.name, described

    async def _tells(
        self, worker: ScriptedWorker, results: list[Result], rng: random.Random
    ) -> None:
        releases = {}
        for source_id in [i for i in worker.leases if rng.random() < 0.5]:
            self._withdraw(worker, source_id)
            releases[source_id] = Release(more=True, band=rng.randint(1, 3), known_band=1, looks=0)
        batch = worker.batch(*results, release=releases)
        await worker.flush_batch(batch)
        if rng.random() < 0.3 and (await worker.flush_batch(batch)).recorded:
            self.found.append(f"{worker.name} told a batch twice and both times it counted")
        for source_id in releases:
            del worker.leases[source_id]

    async def _dies(self, worker: ScriptedWorker, results: list[Result]) -> None:
        """Reaped before or while it flushes; then it flushes (again), as a zombie does."""
        for source_id in worker.leases:
            self._withdraw(worker, source_id)
        release = Release(more=False, band=1, known_band=1, looks=4)
        batch = worker.batch(*results, release=dict.fromkeys(worker.leases, release))
        now = self.now()
        dead = [(worker.name, 0)]
        reaping = worker.store.write(lambda c: worker_rows.reap(c, dead, now=now))
        if len(results) % 2:
            await asyncio.gather(worker.flush_batch(batch), reaping)
        else:
            await reaping
        if (await worker.flush_batch(batch)).recorded:
            self.found.append(f"{worker.name} was dead and its flush counted")

    def _withdraw(self, worker: ScriptedWorker, source_id: int) -> None:
        if self._holders.get(source_id, (None, 0))[0] == worker.name:
            del self._holders[source_id]

    def _result(self, rng: random.Random, visit: Visit) -> Result:
        at = self.now()
        builders: list[Callable[[], Result]] = [
            lambda: fetched(visit, rng.choice(["one", "two"]), at=at, links=rng.sample(URLS, 3)),
            lambda: fetched(visit, "one", at=at, links=rng.sample(URLS, 2)),
            lambda: failed(visit, at=at),
            lambda: failed(visit, at=at),
            lambda: retried(visit, again_at=at, at=at),
            lambda: rested(visit, at=at),
            lambda: again(visit, "on", due_at=at, at=at),
            lambda: moved(visit, rng.choice(URLS), at=at),
        ]
        return rng.choice(builders)()

    # readers, and the end

    async def _reader(self, bench: Bench) -> None:
        """Follows every job by its events' numbers until all is over."""
        while True:
            over = self._over.is_set()
            for job in await bench.rows("SELECT id FROM jobs"):
                after = self.by_number.get(job.id, 0)
                rows = await bench.rows(
                    "SELECT n FROM events WHERE job_id = :job AND n > :after ORDER BY n",
                    job=job.id, after=after,
                )  # fmt: skip
                if [row.n for row in rows] != list(range(after + 1, after + 1 + len(rows))):
                    self.found.append(f"a reader of job {job.id} after {after} saw {rows}")
                self.by_number[job.id] = after + len(rows)
            await self._read_all(bench)
            if over:
                return
            await asyncio.sleep(0.002)

    async def _read_all(self, bench: Bench) -> None:
        """By place, as whoever follows all jobs does."""
        while facts := await bench.store.read(
            lambda c: events.read_all_after(c, self._place, most=50)
        ):
            self._place = facts[-1].place
            self._read |= {(fact.job_id, fact.n) for fact in facts}

    async def _unread(self, bench: Bench) -> list[str]:
        await self._read_all(bench)
        every = {(row.job_id, row.n) for row in await bench.rows("SELECT job_id, n FROM events")}
        missed = every - self._read
        return [f"a reader of all events missed {len(missed)} of {len(every)}"] if missed else []

    async def _drain(self, bench: Bench) -> None:
        await bench.bury(*await bench.store.read(worker_rows.beats))
        worker = await self._new_worker(bench)
        late = START + 10_000_000
        for round_ in range(12):
            now = late + round_ * 100_000
            worker.now = lambda now=now: now
            await bench.follow_links()
            await bench.store.write(lambda c, now=now: worker_rows.wake_forgotten(c, now=now))
            visits = await worker.lease_and_take()
            release = Release(more=True, band=1, known_band=1, looks=0)
            await worker.flush(
                *[fetched(v, at=now) for v in visits],
                release=dict.fromkeys(worker.leases, release),
            )
            worker.leases.clear()

    async def _left(self, bench: Bench) -> list[str]:
        rows = await bench.rows("SELECT public_id, id, state, last_event FROM jobs")
        left = [f"job {r.id} is still {r.state}" for r in rows if r.state in ("queued", "running")]
        left += [f"job {job} is lost" for job in set(self.jobs) - {r.public_id for r in rows}]
        left += [f"a reader of job {r.id} saw {self.by_number.get(r.id)} of {r.last_event} events"
                 for r in rows if self.by_number.get(r.id) != r.last_event]  # fmt: skip
        return left


async def emptied(store: Store) -> None:
    kept = ("clock", "history_state")
    tables = ", ".join(t.name for t in metadata.sorted_tables if t.name not in kept)
    await store.write(lambda c: run(c, text(f"TRUNCATE {tables} RESTART IDENTITY")) and None)
