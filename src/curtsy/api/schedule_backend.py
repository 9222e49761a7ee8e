"""The part of the backend for schedules, runs of sites and previews of schedules."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from curtsy import periodic
from curtsy.api.schemas.runs import Run, run_of
from curtsy.api.timed_store import TimedStore
from curtsy.clock import Clock
from curtsy.errors import StoreAway, StoreFull, WrongState
from curtsy.events.run_log import log_run
from curtsy.frontier.clock_sync import synchronise
from curtsy.frontier.fence import TimeShifted
from curtsy.jobs import JobRequest, Submitter
from curtsy.model.roles import Caller
from curtsy.offload import offload
from curtsy.requests.runs import Mode, ScrapeRequest
from curtsy.schedules.firer import Fired
from curtsy.schedules.first_job import ScheduledJob, create_with_job
from curtsy.schedules.lookup import find, is_maintenance
from curtsy.schedules.overlap import replace_manually
from curtsy.schedules.preview.simulation import Preview, preview
from curtsy.schedules.preview.survey import Survey
from curtsy.schedules.schedule import ScheduleSpec, run_now
from curtsy.schedules.scheduler import Scheduler
from curtsy.schedules.site_schedules import start_run
from curtsy.sites.records import gather_next
from curtsy.sites.runs import SiteRun, find_run
from curtsy.store import Connection

T = TypeVar("T")

REPLACE_ATTEMPTS = 5
SECONDS_FOR_A_DUTY = 10.0
STILL_RUNNING = "The duty is still running: the schedule's runs will show its result."
POLL_SECONDS = 0.2
"""Between two checks whether a run has ended."""
SECONDS_FOR_A_PREVIEW = 20.0


class ScheduleBackend:
    def __init__(
        self, scheduler: Scheduler, *, store: TimedStore, clock: Clock, submitter: Submitter,
        on_work: Callable[[], None],
    ) -> None:  # fmt: skip
        self._store, self._clock, self._submitter = store, clock, submitter
        self._on_work = on_work
        self._scheduler, self._firer = scheduler, scheduler.firer
        self.ticker, self.check_payload = scheduler.ticker, scheduler.firer.check
        self._preview_lock = asyncio.Lock()  # a preview takes a whole core

    async def change(self, work: Callable[[Connection], T]) -> T:
        """Writes, and wakes the scheduler of this process; those of others poll once a second."""
        changed = await self._store.write(work, large=True)  # payloads have up to 100,000 URLs
        self.ticker.wake()
        return changed

    async def create(self, request: JobRequest, spec: ScheduleSpec) -> ScheduledJob:
        """Creates a schedule and the job of its first slot, or returns those that an equal
        request created before."""
        await self._submitter.check(request)
        await self._store.store.require_room()
        limits, now = self._submitter.limits, self._clock.now()

        def work(connection: Connection) -> ScheduledJob:
            self.check_payload(connection, spec.payload, spec, now)
            return create_with_job(connection, spec, request, limits, now=now)

        return await self.change(work)

    async def run(self, name: str, priority: int | None = None) -> Fired:
        """Runs the schedule now, as a manual run. Waits a moment for the result of a duty, which
        also runs while the disk is nearly full: it may be the cleanup."""
        if not is_maintenance(await self._store.read(lambda c: find(c, name))):
            await self._store.store.require_room()
        await self._count_pending()
        fired = await self._run(name, self._clock.now(), priority)
        self.ticker.announce(fired)
        return fired if fired.task is None else await self._duty_result(fired)

    async def _duty_result(self, fired: Fired) -> Fired:
        """Returns the duty's result if it ends soon; if not, the duty goes on in the background."""
        done = self.ticker.tasks.add(fired)
        self._store.start(self.finish_tasks())
        await asyncio.wait([done], timeout=SECONDS_FOR_A_DUTY)
        return done.result() if done.done() else fired._replace(message=STILL_RUNNING)

    async def finish_tasks(self) -> None:
        """Runs this process's maintenance tasks until none is left; retries while the store is
        away or full."""
        tasks = self.ticker.tasks
        while not tasks.is_settled:
            try:
                await tasks.step()
            except (StoreAway, StoreFull):
                await asyncio.sleep(periodic.AFTER_FAILURE_SECONDS)

    async def _run(self, name: str, now: int, priority: int | None) -> Fired:
        """Cancels a run that is in the way, if the schedule's overlap rule says so. Tries several
        times, since other callers may start the schedule at the same moment."""

        def start(connection: Connection) -> Fired:
            return run_now(connection, name, self._firer, now=now, priority=priority)

        for _ in range(REPLACE_ATTEMPTS):
            try:
                return await self._store.write(start, large=True)
            except WrongState:
                if not await self._store.write(
                    lambda c: replace_manually(c, name, self._firer, now=now)
                ):
                    raise
        return await self._store.write(start, large=True)

    async def start_run(self, request: ScrapeRequest, caller: Caller, mode: Mode) -> str:
        """Returns the run's id. Raises `WrongState` during another run of the site."""
        submitter = self._submitter
        await self._store.store.require_room()
        await self._count_pending()
        submitted = await self._store.write(
            lambda c: start_run(c, request.site_name, request.search(), priority=request.priority,
                                mode=mode, limits=submitter.limits, delay_ms=submitter.delay_ms,
                                clock=self._clock, pending=submitter.pending, by=caller),
            large=True,
        )  # fmt: skip
        self._on_work()
        log_run("run_queued", request.site_name, submitted.job, "queued")
        return submitted.job

    async def _count_pending(self) -> None:
        await self._store.in_time(self._submitter.pending.count(self._store.store))

    async def has_ended(self, run: str, *, within: float) -> bool:
        until = asyncio.get_running_loop().time() + within
        while (await self._store.read(lambda c: find_run(c, run))).finished_at is None:
            if asyncio.get_running_loop().time() >= until:
                return False
            await asyncio.sleep(POLL_SECONDS)
        return True

    async def read_run(self, run: str) -> Run:
        """The first read of a run that has ended compares its records with earlier ones."""
        row, found = await self._store.read(lambda c: _read_run(c, run))
        if row.finished_at is None or row.gathered_at is not None or row.site is None:
            return found
        await self._gather(row.site)
        return (await self._store.read(lambda c: _read_run(c, run)))[1]

    async def _gather(self, site: str) -> None:
        """Compares the records of the site's runs that have ended, in the order of the runs."""
        now = self._clock.now()
        while ended := await self._store.write(
            lambda c: gather_next(c, site, now=now), SECONDS_FOR_A_DUTY, large=True
        ):
            log_run("run_ended", site, *ended)

    async def tick(self) -> list[Fired]:
        """Fires the schedules that are due now, and starts their duties in the background."""
        fired = await self._store.in_time(self._tick(), SECONDS_FOR_A_DUTY)
        self._store.start(self.finish_tasks())
        return fired

    async def _tick(self) -> list[Fired]:
        while True:
            try:
                return await self.ticker.tick()
            except TimeShifted:  # another process saw the clock jump before this one
                await synchronise(self._store.store, self._clock)

    async def preview(self, user: str | None, *, now: int, until: int) -> tuple[Survey, Preview]:
        """Predicts what the schedules of one user, or of all users, will do; writes nothing."""
        async with self._preview_lock:
            survey = await self._store.read(
                lambda c: self._scheduler.surveyor.survey(c, user=user, now=now),
                SECONDS_FOR_A_PREVIEW,
                large=True,
            )
            found = await offload(preview, survey.schedules, survey.sources, now=now, until=until)
        return survey, found


def _read_run(connection: Connection, run: str) -> tuple[SiteRun, Run]:
    """Returns the run's row and its full state, both read in one transaction."""
    row = find_run(connection, run)
    return row, run_of(connection, row)
