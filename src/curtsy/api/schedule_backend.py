"""What the doors of schedules and sites work with, beside the desk."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from curtsy import periodic
from curtsy.api.schemas.runs import Run, run_shown
from curtsy.api.timed_store import TimedStore
from curtsy.clock import Clock
from curtsy.errors import StoreAway, StoreFull, WrongState
from curtsy.frontier.clock_sync import synchronise
from curtsy.frontier.fence import TimeShifted
from curtsy.jobs import JobRequest, Submitter
from curtsy.model.roles import Caller
from curtsy.requests.runs import Mode, ScrapeRequest
from curtsy.schedules.firer import Fired
from curtsy.schedules.first_job import ScheduledJob, create_with_job
from curtsy.schedules.overlap import replace_manually
from curtsy.schedules.preview.simulation import Preview, preview
from curtsy.schedules.preview.survey import Survey
from curtsy.schedules.schedule import ScheduleSpec, run_now
from curtsy.schedules.scheduler import Scheduler
from curtsy.schedules.site_schedules import start_run
from curtsy.sites.records import gather_next
from curtsy.sites.runs import SiteRun, find_run, log_run
from curtsy.store import Connection

T = TypeVar("T")

TIMES_TO_MAKE_ROOM = 5
SECONDS_FOR_A_DUTY = 10.0
GOES_ON = "The duty takes a while: the schedule's runs tell what it did when it is done."
LOOK_EVERY_SECONDS = 0.2
"""So often who waits for a run asks whether it has ended."""
SECONDS_TO_LOOK_AHEAD = 20.0


class ScheduleBackend:
    def __init__(
        self, scheduler: Scheduler, *, store: TimedStore, clock: Clock, submitter: Submitter,
        on_work: Callable[[], None],
    ) -> None:  # fmt: skip
        self._store, self._clock, self._submitter = store, clock, submitter
        self._on_work = on_work
        self._scheduler, self._firer = scheduler, scheduler.firer
        self.ticker, self.check_payload = scheduler.ticker, scheduler.firer.check
        self._previewing = asyncio.Lock()  # a preview takes a core, so only one runs at a time

    async def change(self, work: Callable[[Connection], T]) -> T:
        """Other processes that keep the schedules look once a second."""
        changed = await self._store.write(work)
        self.ticker.wake()
        return changed

    async def make(self, request: JobRequest, spec: ScheduleSpec) -> ScheduledJob:
        """A job for the first slot of a new schedule, or the one that was made for the same."""
        self._submitter.check(request)
        limits, now = self._submitter.limits, self._clock.now()

        def work(connection: Connection) -> ScheduledJob:
            self.check_payload(connection, spec.payload, spec, now)
            return create_with_job(connection, spec, request, limits, now=now)

        return await self.change(work)

    async def run(self, name: str) -> Fired:
        """Now, by hand."""
        await self._count_pending()
        fired = await self._run(name, self._clock.now())
        self.ticker.announce(fired)
        return fired if fired.task is None else await self._begun(fired)

    async def _begun(self, fired: Fired) -> Fired:
        """What the duty came to, if that is soon; if not, it goes on by itself."""
        done = self.ticker.tasks.add(fired)
        self._store.begin(self.settle())
        await asyncio.wait([done], timeout=SECONDS_FOR_A_DUTY)
        return done.result() if done.done() else fired._replace(message=GOES_ON)

    async def settle(self) -> None:
        """Do all duties that are tasks here, also if the store is away for a moment."""
        tasks = self.ticker.tasks
        while not tasks.is_settled:
            try:
                await tasks.step()
            except (StoreAway, StoreFull):
                await asyncio.sleep(periodic.AFTER_FAILURE_SECONDS)

    async def _run(self, name: str, now: int) -> Fired:
        """What is in the way gives way, if the schedule says so; others may run it in the same
        moment, and then that gives way as well."""
        for _ in range(TIMES_TO_MAKE_ROOM):
            try:
                return await self._store.write(lambda c: run_now(c, name, self._firer, now=now))
            except WrongState:
                if not await self._store.write(
                    lambda c: replace_manually(c, name, self._firer, now=now)
                ):
                    raise
        return await self._store.write(lambda c: run_now(c, name, self._firer, now=now))

    async def start_run(self, asked: ScrapeRequest, caller: Caller, mode: Mode) -> str:
        """Its id. Raises `WrongState` while another run of the site goes on."""
        submitter = self._submitter
        await self._count_pending()
        submitted = await self._store.write(
            lambda c: start_run(c, asked.site_name, asked.search(), priority=asked.priority,
                                mode=mode, limits=submitter.limits, delay_ms=submitter.delay_ms,
                                clock=self._clock, pending=submitter.pending, by=caller)
        )  # fmt: skip
        self._on_work()
        log_run("run_queued", asked.site_name, submitted.job, "queued")
        return submitted.job

    async def _count_pending(self) -> None:
        await self._store.in_time(self._submitter.pending.count(self._store.store))

    async def has_ended(self, run: str, *, within: float) -> bool:
        until = asyncio.get_running_loop().time() + within
        while (await self._store.read(lambda c: find_run(c, run))).finished_at is None:
            if asyncio.get_running_loop().time() >= until:
                return False
            await asyncio.sleep(LOOK_EVERY_SECONDS)
        return True

    async def read_run(self, run: str) -> Run:
        """Whoever looks first at a run that has ended compares its records with those before."""
        row, shown = await self._store.read(lambda c: _shown(c, run))
        if row.finished_at is None or row.gathered_at is not None or row.site is None:
            return shown
        await self._gather(row.site)
        return (await self._store.read(lambda c: _shown(c, run)))[1]

    async def _gather(self, site: str) -> None:
        """Its runs that ended, in their order."""
        now = self._clock.now()
        while ended := await self._store.write(
            lambda c: gather_next(c, site, now=now), SECONDS_FOR_A_DUTY
        ):
            log_run("run_ended", site, *ended)

    async def tick(self) -> list[Fired]:
        """Fire at once what is due; duties among it are begun."""
        fired = await self._store.in_time(self._tick(), SECONDS_FOR_A_DUTY)
        self._store.begin(self.settle())
        return fired

    async def _tick(self) -> list[Fired]:
        while True:
            try:
                return await self.ticker.tick()
            except TimeShifted:  # another process saw the clock jump, and we have not yet
                await synchronise(self._store.store, self._clock)

    async def foretell(self, user: str | None, *, now: int, until: int) -> tuple[Survey, Preview]:
        """What the schedules will do, of everybody or of one user; nothing is written."""
        async with self._previewing:
            ahead = await self._store.read(
                lambda c: self._scheduler.surveyor.survey(c, user=user, now=now),
                SECONDS_TO_LOOK_AHEAD,
            )
            found = await asyncio.to_thread(
                preview, ahead.schedules, ahead.sources, now=now, until=until
            )
        return ahead, found


def _shown(connection: Connection, run: str) -> tuple[SiteRun, Run]:
    """The run's row, and all of it as it stood at that same moment."""
    row = find_run(connection, run)
    return row, run_shown(connection, row)
