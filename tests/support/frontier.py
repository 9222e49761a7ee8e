"""Building blocks for tests of the frontier: a clock that only the test moves, submitters and a
scripted worker."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson

from curtsy.clock import Clock
from curtsy.frontier import worker_rows
from curtsy.frontier.batch import Batch, Document, Flushed, Release, Result, SourceReport
from curtsy.frontier.crawls.leads import Crawl
from curtsy.frontier.flush import flush
from curtsy.frontier.lease import Lease, LowWater, lease
from curtsy.frontier.take import Position, TakeRequest, Visit, take
from curtsy.jobs import (
    JobRequest,
    LetterSelection,
    PageRequest,
    SubmitLimits,
    Submitted,
    Submitter,
    cancel,
    pause,
    resume,
    retry_failures,
    retry_letters,
)
from curtsy.model.failure_kinds import Kind
from curtsy.model.link import Link, as_link
from curtsy.model.outcome import Again, Failed, Fetched, Moved, NotModified
from curtsy.model.scope import scope_around
from curtsy.model.urls import canonical
from curtsy.store import Connection, Store
from curtsy.store.schema import metadata
from curtsy.worker.link_follower import LinkFollower
from support.promises import violations
from support.sql import run, text

START = 1_800_000_000_000
DELAY = 1_000
LONG = 10**12
"""A `max_age` that makes every stored document fresh."""


class Time:
    """A clock in milliseconds that only the test moves."""

    def __init__(self, at: int = START) -> None:
        self.at = at

    def __call__(self) -> int:
        return self.at

    def moves(self, span: int) -> int:
        self.at += span
        return self.at


# Results as a worker builds them.


def fetched(
    visit: Visit, content: str = "hello", *, at: int = START, etag: str | None = None,
    links: Sequence[str | Link] = (),
) -> Result:  # fmt: skip
    """With links, if the visit is to extract them."""
    outcome = Fetched(200, visit.url, etag=etag, wire_bytes=9)
    document = Document(content.encode(), content, "text/html", "utf-8", len(content))
    found = tuple(map(as_link, links)) if visit.links else None
    return Result(visit, outcome, at - 5, at, document=document, links=found)


def not_modified(visit: Visit, *, at: int = START) -> Result:
    return Result(visit, NotModified(), at - 5, at)


def failed(visit: Visit, kind: Kind = Kind.GONE, *, at: int = START) -> Result:
    return Result(visit, Failed(kind, "It did not work.", status=410), at - 5, at)


def retried(visit: Visit, *, again_at: int, at: int = START) -> Result:
    outcome = Failed(Kind.TIMEOUT, "No answer in time.")
    return Result(visit, outcome, at - 5, at, again_at=again_at, spends_attempt=True)


def rested(visit: Visit, *, at: int = START) -> Result:
    return Result(visit, Failed(Kind.RATE_LIMITED, "Slow down."), at - 5, at, again_at=at)


def moved(visit: Visit, to: str, *, at: int = START) -> Result:
    host = canonical(to).host
    return Result(visit, Moved(to, 302), at - 5, at, again_at=at, moved_to_host=host)


def again(visit: Visit, progress: str, *, due_at: int, at: int = START) -> Result:
    return Result(visit, Again(due_at, progress), at - 5, at, again_at=due_at)


def no_request(visit: Visit, *, at: int = START) -> Result:
    return replace(failed(visit, Kind.CONNECT, at=at), no_request=True)


class ScriptedWorker:
    """A worker that registers, leases, takes and flushes on the test's command. It keeps every
    lease it ever had, so it can play a zombie."""

    def __init__(self, store: Store, now: Callable[[], int], name: str) -> None:
        self.store, self.now, self.name = store, now, name
        self.leases: dict[int, Lease] = {}

    async def register(self) -> "ScriptedWorker":
        row = worker_rows.WorkerRow(self.name, "machine", 1, "test", slots=100)
        now = self.now()
        await self.store.write(
            lambda c: worker_rows.register(c, row, lease_until=now + 15_000, now=now)
        )
        return self

    async def beat(self) -> bool:
        return await self.store.write(
            lambda c: worker_rows.beat(c, self.name, lease_until=0, in_flight=[], draining=False)
        )

    async def leave(self) -> None:
        now = self.now()
        await self.store.write(lambda c: worker_rows.leave(c, self.name, now=now))

    async def lease(
        self, want: int = 100, *, bands: Iterable[int] = (1, 2, 3), clock_version: int | None = None
    ) -> list[Lease]:
        now = self.now()

        def work(c: Connection) -> list[Lease]:
            version = clock_version or run(c, text("SELECT version FROM clock")).scalar_one()
            wants = dict.fromkeys(bands, want)
            return lease(c, worker=self.name, wants=wants, low_water=LowWater(),
                         clock_version=version, now=now)  # fmt: skip

        leased = sorted(await self.store.write(work), key=lambda one: one.source_id)
        self.leases |= {one.source_id: one for one in leased}
        return leased

    async def take(
        self, *source_ids: int, want: int = 100, after: Mapping[int, Position] | None = None
    ) -> list[Visit]:
        """The next visits of these sources, or of all leased ones, in order within each."""
        requests = [TakeRequest(i, after or {}, want) for i in source_ids or self.leases]
        now = self.now()
        taken = await self.store.read(lambda c: take(c, requests, now=now)) if requests else {}
        return [visit for request in requests for visit in taken[request.source_id]]

    async def lease_and_take(self) -> list[Visit]:
        await self.lease()
        return await self.take()

    def report(
        self, source_id: int, release: Release | None = None, **changes: Any
    ) -> SourceReport:
        held = self.leases[source_id]
        report = SourceReport(
            source_id=source_id, epoch=held.epoch, next_fetch_at=self.now(), delay_ms=DELAY,
            ranks=orjson.dumps(held.ranks).decode(), pace="{}", paced_at=None, fail_streak=0,
            failing_since=None, release=release,
        )  # fmt: skip
        return replace(report, **changes)

    def batch(
        self,
        *results: Result,
        release: Mapping[int, Release] | None = None,
        started: Iterable[int] = (),
    ) -> Batch:
        releases = release or {}
        sources = {r.visit.source_id for r in results} | releases.keys()
        reports = {i: self.report(i, releases.get(i)) for i in sorted(sources)}
        return Batch(list(results), reports, list(started))

    async def flush_batch(self, batch: Batch) -> Flushed:
        now = self.now()
        return await self.store.write(
            lambda c: flush(c, batch, worker=self.name, delay_ms=DELAY, now=now)
        )

    async def flush(self, *results: Result, **more: Any) -> Flushed:
        return await self.flush_batch(self.batch(*results, **more))

    async def release(self, source_id: int, *, more: bool = False, looks: int = 1) -> Flushed:
        release = Release(more=more, band=1, known_band=1, looks=looks)
        return await self.flush(release={source_id: release})


@dataclass(frozen=True, slots=True)
class Counts:
    state: str
    done: int
    failed: int
    cancelled: int
    total: int


class Bench:
    """A store with a submitter, on a clock that only the test moves."""

    def __init__(self, store: Store, *, limits: SubmitLimits | None = None) -> None:
        self.store, self.time = store, Time()
        self.clock = Clock(monotonic=self.time, wall=self.time)
        self.submitter = self.submitter_with(limits or SubmitLimits())

    def submitter_with(self, limits: SubmitLimits) -> Submitter:
        return Submitter(store=self.store, clock=self.clock, limits=limits, delay_ms=DELAY)

    async def submit(self, *urls: str, priority: int = 5, **more: Any) -> Submitted:
        pages = [PageRequest(url, priority) for url in urls]
        return await self.submitter.submit(JobRequest(door="fetch", pages=pages, **more))

    async def job(self, *urls: str, **more: Any) -> str:
        """Submits and returns only the job's id."""
        return (await self.submit(*urls, **more)).job

    async def crawl(
        self, *urls: str, depth: int, max_pages: int = 100, priority: int = 5, **more: Any
    ) -> str:
        """Submits a crawl that stays on the hosts of its start pages."""
        scope = scope_around(((url, canonical(url).host) for url in urls), "host")
        terms = {"scope": scope.to_json(), "max_age": more.get("max_age", 0), "headers": []}
        crawl = Crawl(depth, max_pages, priority, orjson.dumps(terms).decode())
        return await self.job(*urls, crawl=crawl, priority=priority, **more)

    async def follow_links(self) -> None:
        follower = LinkFollower(store=self.store, clock=self.clock, delay_ms=DELAY, allow=())
        while await follower.step() == 0:
            pass

    async def cancel(self, job: str) -> int:
        return await self.store.write(lambda c: cancel(c, job, now=self.time()))

    async def retry(self, job: str) -> int:
        return await self.store.write(lambda c: retry_failures(c, job, now=self.time()))

    async def pause(self, job: str) -> int:
        return await self.store.write(lambda c: pause(c, job, now=self.time()))

    async def resume(self, job: str) -> int:
        return await self.store.write(lambda c: resume(c, job, now=self.time()))

    async def retry_letters(self, **which: Any) -> int:
        """Returns how many pages wait again."""
        letters = LetterSelection(**which)
        work = lambda c: retry_letters(c, letters, now=self.time())  # noqa: E731
        return (await self.store.write(work)).pages

    async def worker(self, name: str = "w1") -> ScriptedWorker:
        return await ScriptedWorker(self.store, self.time, name).register()

    async def bury(self, *names: str) -> list[str]:
        """Reaps these workers as if their heartbeats had stopped."""
        found = await self.store.read(worker_rows.beats)
        dead = [(name, found[name]) for name in names]
        return await self.store.write(lambda c: worker_rows.reap(c, dead, now=self.time()))

    async def rows(self, sql: str, **values: Any) -> list[Any]:
        return await self.store.read(lambda c: list(run(c, text(sql), values)))

    async def row(self, sql: str, **values: Any) -> Any:
        [only] = await self.rows(sql, **values)
        return only

    async def execute(self, sql: str, **values: Any) -> None:
        await self.store.write(lambda c: run(c, text(sql), values) and None)

    async def counts(self, job: str) -> Counts:
        return Counts(*await self.row(
            "SELECT state, done, failed, cancelled, total FROM jobs WHERE public_id = :j", j=job
        ))  # fmt: skip

    async def items(self, job: str) -> list[Any]:
        return await self.rows(
            "SELECT i.* FROM items i JOIN jobs j ON j.id = i.job_id WHERE j.public_id = :job "
            "ORDER BY i.position",
            job=job,
        )

    async def events(self, job: str) -> list[str]:
        found = await self.rows(
            "SELECT e.n, e.name FROM events e JOIN jobs j ON j.id = e.job_id "
            "WHERE j.public_id = :job ORDER BY e.n",
            job=job,
        )
        assert [e.n for e in found] == list(range(1, len(found) + 1))
        return [e.name for e in found]

    async def source(self, name: str) -> Any:
        return await self.row("SELECT * FROM sources WHERE name = :name", name=name)

    async def dump(self) -> dict[str, list[tuple[Any, ...]]]:
        """Every row of every table."""

        def work(c: Connection) -> dict[str, list[tuple[Any, ...]]]:
            rows = {t.name: run(c, text(f"SELECT * FROM {t.name}")) for t in metadata.sorted_tables}
            return {name: sorted(map(tuple, found), key=repr) for name, found in rows.items()}

        return await self.store.read(work)

    async def violations(self) -> list[str]:
        return await self.store.read(violations)
