"""What the routes call: one method per use case, each with a deadline."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Self, TypeVar

from fastapi import Depends
from starlette.requests import HTTPConnection

from curtsy import periodic
from curtsy.access.keys import Presented, store_use
from curtsy.access.quota import Quotas
from curtsy.access.sessions import Session, close_session, open_session
from curtsy.alerts.change_feed import ChangeFeed
from curtsy.api.cleanup_backend import CleanupBackend
from curtsy.api.schedule_backend import ScheduleBackend
from curtsy.api.timed_store import TimedStore, deadline_missed
from curtsy.batcher import Batcher
from curtsy.clock import DAY, HOUR, Clock
from curtsy.errors import NotFound, WrongState
from curtsy.events import Feed
from curtsy.events.webhook_secrets import SigningSecret, rotate_secret, signing_secret
from curtsy.events.webhooks import replay_delivery
from curtsy.explain.plan import Plan, build_plan, read_plan_facts
from curtsy.fetch.proxy import AllowedProxies
from curtsy.frontier.source_policy import PolicyContext
from curtsy.jobs import (
    JobRequest,
    LetterSelection,
    Settled,
    Submitted,
    Submitter,
    cancel,
    pause,
    purge_some,
    resolve_letter,
    resolve_letters,
    resume,
    retry_failures,
    retry_letter,
    retry_letters,
)
from curtsy.jobs.dead_letters import BATCH
from curtsy.jobs.job import Job, read_jobs
from curtsy.jobs.stored_pages import without_stored
from curtsy.model.roles import Caller
from curtsy.offload import MANY_PAGES, offload
from curtsy.politeness.policy import Policy
from curtsy.reports.report import Report
from curtsy.reports.reporter import Reporter
from curtsy.schedules.scheduler import Scheduler
from curtsy.store import Connection, Store
from curtsy.store.space import Space, read_space

T = TypeVar("T")

ANSWER_WITHIN_SECONDS = 1.6
"""With the way through the network, a client has its answer within two seconds."""
SECONDS_FOR_A_URL = 0.0002
"""Added to the deadline of a submit for each URL: the largest submit may take 20 seconds."""
JOBS_PER_READ = 256
"""Concurrent reads of a job's state share one query for up to this many jobs."""
BATCHES_FOR = 5_000
"""Milliseconds after which a request over many letters or items starts no further batch."""
SECONDS_FOR_A_REPORT = 20.0
"""Added to the deadline of a report: it may read a year."""
SECONDS_FOR_A_MOVE = 10.0
"""Added to the deadline where hosts change their source: their waiting visits move with them."""
POLICY = Policy()


@dataclass(frozen=True, slots=True)
class BackendSettings:
    """Settings of the installation, and defaults for fields that a request leaves out."""

    page_max_age: int = 30 * DAY
    """A stored article no older than this is served from the store."""
    crawl_cache_ttl: int = HOUR
    """A crawl requested again within this span returns the first job."""
    policy: Policy = POLICY
    """Policy of sources without a description."""
    lease_ttl: int = 15_000
    allow_proxies: tuple[AllowedProxies, ...] = ()
    user_agent: str = "curtsy"
    result_days: int = 30
    """Jobs that ended longer ago are deleted by a cleanup."""
    sync_timeout: float = 30.0
    """Seconds that a request in sync mode waits for its run."""
    answer_within: float | None = None
    """None: ANSWER_WITHIN_SECONDS."""


DEFAULTS = BackendSettings()


class Backend:
    """The routes' access to the engine. Lives as long as the server."""

    def __init__(
        self, *, store: Store, clock: Clock, submitter: Submitter, scheduler: Scheduler,
        on_work: Callable[[], None], settings: BackendSettings = DEFAULTS,
    ) -> None:  # fmt: skip
        self.settings, self.clock, self.policy = settings, clock, settings.policy
        self._store, self._submitter, self._on_work = store, submitter, on_work
        self.timed = TimedStore(store, answer_within=settings.answer_within
                                or ANSWER_WITHIN_SECONDS)  # fmt: skip
        self.schedules = ScheduleBackend(scheduler, store=self.timed, clock=clock,
                                         submitter=submitter, on_work=on_work)  # fmt: skip
        self.cleanup = CleanupBackend(self.timed, clock, keep_days=settings.result_days)
        self.feed = Feed(store)
        self._reporter = Reporter(store=store, clock=clock, policy=settings.policy)
        self.alert_changes = ChangeFeed(store)
        self._jobs = Batcher(self._read_jobs, most=JOBS_PER_READ, at_once=1)

    async def __aenter__(self) -> Self:
        self._feed_task = asyncio.create_task(periodic.run("feed", self.feed.step, self.feed.wake))
        return self

    async def __aexit__(self, *_: object) -> None:
        self._feed_task.cancel()
        await self.timed.close()

    async def submit(self, request: JobRequest) -> Submitted:
        more = len(request.pages) * SECONDS_FOR_A_URL
        return await self.timed.in_time(self._submitter.submit(request), more)

    async def plan(self, request: JobRequest) -> Plan:
        """Predicts what the request would lead to; writes nothing."""
        guarded: list[str] = []
        pages = await self._submitter.check(request, guarded)
        more, now = len(request.pages) * SECONDS_FOR_A_URL, self.clock.now()
        if request.new_only:
            wanted, large = pages, len(pages) > MANY_PAGES
            stored = self._store.read(lambda c: without_stored(c, wanted), large=large)
            pages = await self.timed.in_time(stored, more)
        read = self._store.read(
            lambda c: read_plan_facts(c, pages, request.max_age, self.policy, now=now),
            large=len(pages) > MANY_PAGES,
        )
        found = await self.timed.in_time(read, more)
        return await offload(
            build_plan, pages, found, self.policy, user_agent=self.settings.user_agent, now=now,
            finish_by=request.finish_by, guarded=guarded,
        )  # fmt: skip

    async def job(self, job: str) -> Job:
        """Returns the job's current row and its tags."""
        try:
            async with asyncio.timeout(self.timed.answer_within):
                return await self._jobs.submit(job)
        except TimeoutError:
            raise deadline_missed(self.timed.answer_within) from None

    async def _read_jobs(self, jobs: Sequence[str]) -> list[Job | Exception]:
        found = await self._store.read(lambda c: read_jobs(c, jobs))
        return [found.get(job) or NotFound("job", job) for job in jobs]

    async def cancel(self, job: str) -> int:
        """Returns the number of pending pages that were removed."""
        return await self.write(lambda c: cancel(c, job, now=self.clock.now()))

    async def retry(self, job: str, caller: Caller) -> int:
        """Returns the number of failed pages that were queued again."""
        now, key_id = self.clock.now(), caller.key_id
        pages = await self.write(lambda c: retry_failures(c, job, now=now, key_id=key_id))
        self._on_work()
        return pages

    async def pause(self, job: str) -> int:
        """Returns the number of pages put on hold."""
        return await self.write(lambda c: pause(c, job, now=self.clock.now()))

    async def resume(self, job: str) -> int:
        """Returns the number of pages that were queued again."""
        pages = await self.write(lambda c: resume(c, job, now=self.clock.now()))
        self._on_work()
        return pages

    async def purge(self, job: str) -> bool:
        """Returns whether everything is deleted; False: too much for one request, call again."""
        with suppress(WrongState):  # a job that has ended needs no cancelling
            await self.cancel(job)
        until = self.clock.monotonic() + BATCHES_FOR
        while not (await self.write(lambda c: purge_some(c, job))).is_done:
            if self.clock.monotonic() >= until:
                return False
        return True

    async def replay_delivery(self, job: str, delivery: int, caller: Caller) -> None:
        """A replay is a request like that of a page, so it spends a page of the key's quota."""
        now, key_id = self.clock.now(), caller.key_id

        def replay(connection: Connection) -> None:
            quotas = Quotas(connection, [key_id] if key_id is not None else [], now=now)
            quotas.spend(key_id, 1, opens=False)
            replay_delivery(connection, job, delivery, now=now)
            quotas.record(connection)

        await self.write(replay)

    async def signing_secret(self, user: str | None) -> SigningSecret:
        return await self.write(lambda c: signing_secret(c, user, now=self.clock.now()))

    async def rotate_signing_secret(self, user: str | None, grace: int) -> SigningSecret:
        now = self.clock.now()
        return await self.write(lambda c: rotate_secret(c, user, grace=grace, now=now))

    async def retry_letter(self, letter: int) -> Settled:
        settled = await self.write(lambda c: retry_letter(c, letter, now=self.clock.now()))
        self._on_work()
        return settled

    async def resolve_letter(self, letter: int) -> Settled:
        return await self.write(lambda c: resolve_letter(c, letter))

    async def retry_letters(self, selection: LetterSelection) -> Settled:
        now = self.clock.now()
        settled = await self._in_batches(lambda c: retry_letters(c, selection, now=now))
        self._on_work()
        return settled

    async def resolve_letters(self, selection: LetterSelection) -> Settled:
        return await self._in_batches(lambda c: resolve_letters(c, selection))

    async def _in_batches(self, work: Callable[[Connection], Settled]) -> Settled:
        """Runs batches until none is left or the time is up. Each batch commits by itself."""
        until = self.clock.monotonic() + BATCHES_FOR
        settled = batch = await self.write(work)
        while batch.letters == BATCH and self.clock.monotonic() < until:
            batch = await self.write(work)
            settled += batch
        return settled

    async def change_source(self, work: Callable[[Connection, PolicyContext], T]) -> T:
        """Writes a change of a source and notifies the workers."""

        def change(connection: Connection) -> T:
            settings = self.settings
            return work(connection, PolicyContext(self.policy, settings.lease_ttl, self.clock.now(),
                                                  settings.allow_proxies))  # fmt: skip

        # large: a source may name a thousand hosts
        changed = await self.timed.write(change, SECONDS_FOR_A_MOVE, large=True)
        self._on_work()
        return changed

    async def make_report(self, hours: int) -> Report:
        """Makes a report on the last hours and stores it."""
        report = self._reporter.on_last_hours(hours)
        return await self.timed.in_time(report, SECONDS_FOR_A_REPORT)

    async def open_session(self, key: Presented) -> tuple[Session, str] | None:
        return await self.write(lambda c: open_session(c, key, now=self.clock.now()))

    async def close_session(self, hashed: str) -> None:
        await self.write(lambda c: close_session(c, hashed))

    def record_key_use(self, key_id: int) -> None:
        """Writes in the background."""
        self.timed.start(self._store.write(lambda c: store_use(c, key_id, now=self.clock.now())))

    async def is_full(self) -> bool:
        return await self.timed.in_time(self._store.is_full())

    async def space(self) -> Space:
        """The space that the database takes, and what its disk has left."""
        return await self.timed.in_time(read_space(self._store))

    async def read(self, work: Callable[[Connection], T]) -> T:
        return await self.timed.read(work)

    async def write(self, work: Callable[[Connection], T], more: float = 0.0) -> T:
        return await self.timed.write(work, more)


async def _backend(connection: HTTPConnection) -> Backend:
    backend: Backend = connection.app.state.backend
    return backend


TheBackend = Annotated[Backend, Depends(_backend)]
