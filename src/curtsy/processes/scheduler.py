"""`curtsy scheduler`: periodic steps that any number of processes may run; there is no leader."""

import asyncio

from curtsy import periodic
from curtsy.clock import Clock
from curtsy.config import Settings, milliseconds, whole_policy
from curtsy.errors import StoreAway, StoreFull
from curtsy.events.run_log import log_run
from curtsy.history.steps import HistorySteps
from curtsy.logs import logger
from curtsy.maintenance.cleanup import BATCH, Cleanup, prune_some
from curtsy.maintenance.disk_watch import DiskMarks, DiskWatch
from curtsy.politeness.policy import Policy
from curtsy.processes.alert_loops import alert_loops_for
from curtsy.processes.builders import scheduler_for, submitter_for
from curtsy.processes.declarations import Declared, apply, schedule_maintenance
from curtsy.processes.parts import synchronise_clock, until_stopped
from curtsy.processes.signals import Stop
from curtsy.processes.startup import own_scrapers, ready
from curtsy.schedules.scheduler import Scheduler
from curtsy.schedules.ticker import Ticker
from curtsy.sites.records import gather_next, sites_to_gather
from curtsy.sites.run_timeout import RunTimeouts
from curtsy.store import Store
from curtsy.store.wakeups import Wakeups

log = logger("app")

PRUNE_EVERY_SECONDS = 60.0
GATHER_EVERY_SECONDS = 2.0


async def run_scheduler(settings: Settings) -> None:
    """Runs a scheduler until a signal; any number of them may run."""
    declared, own = Declared.read(settings), own_scrapers(settings)
    with Stop() as stop:
        async with (
            ready(settings) as (store, clock),
            Wakeups(settings.database_url, lambda: None) as wakeups,
        ):
            submitter = submitter_for(settings, store, clock, wakeups.send, own)
            scheduler = scheduler_for(settings, store, clock, submitter, wakeups.send)
            await apply(settings, declared, store, clock, scheduler.firer.check)
            await schedule_maintenance(store, clock, scheduler.ticker.tasks)
            loops = loops_for(settings, store, clock, scheduler)
            steps = {"keep_time": lambda: synchronise_clock(store, clock)}
            alerts = alert_loops_for(settings, store, clock)
            await until_stopped(stop, store, [loops, alerts], steps)


def loops_for(
    settings: Settings, store: Store, clock: Clock, scheduler: Scheduler
) -> "SchedulerLoops":
    marks = DiskMarks(settings.disk_low_bytes, settings.disk_reserve_bytes)
    cleanup = Cleanup(store=store, clock=clock, keep_days=settings.result_days)
    return SchedulerLoops(store=store, clock=clock, ticker=scheduler.ticker,
                          policy=whole_policy(settings),
                          run_timeout=milliseconds(settings.run_timeout),
                          disk=DiskWatch(store=store, cleanup=cleanup, marks=marks))  # fmt: skip


class SchedulerLoops:
    """Runs the periodic steps of a scheduler until `stop` is called."""

    def __init__(
        self, *, store: Store, clock: Clock, ticker: Ticker, policy: Policy, run_timeout: int,
        disk: DiskWatch,
    ) -> None:  # fmt: skip
        self._store, self._clock, self._ticker = store, clock, ticker
        self._disk = disk
        self._run_timeouts = RunTimeouts(store=store, clock=clock, policy=policy,
                                         run_timeout=run_timeout)  # fmt: skip
        self._history = HistorySteps(store=store, clock=clock)
        self._stopping = asyncio.Event()

    async def run(self) -> None:
        log.info("scheduler_started", scheduler=self._ticker.id)
        ticker = self._ticker
        steps = {
            "prune": self.prune, "gather": self.gather, "watch_disk": self._disk.step,
            "end_overdue_runs": self._run_timeouts.step, **self._history.by_name(),
        }  # fmt: skip
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [
                    group.create_task(periodic.run("fire", ticker.step, ticker.wake)),
                    group.create_task(periodic.run("do", ticker.tasks.step, ticker.tasks.wake)),
                    *(group.create_task(periodic.run(*named)) for named in steps.items()),
                ]
                await self._stopping.wait()
                for task in tasks:
                    task.cancel()
        finally:
            await ticker.leave()
        log.info("scheduler_stopped", scheduler=self._ticker.id)

    async def stop(self) -> None:
        self._stopping.set()

    async def gather(self) -> float:
        """A periodic step: compares the records of finished runs with those before. An error of one
        site does not hold up the others."""
        for site in await self._store.read(sites_to_gather):
            try:
                await self._gather(site)
            except (StoreAway, StoreFull):
                raise
            except Exception:
                log.exception("records_not_gathered", site_name=site)
        return GATHER_EVERY_SECONDS

    async def _gather(self, site: str) -> None:
        while ended := await self._store.write(
            lambda c: gather_next(c, site, now=self._clock.now()), large=True
        ):
            log_run("run_ended", site, *ended)

    async def prune(self) -> float:
        """A periodic step: deletes expired keys and sessions, a batch in each transaction."""
        if self._clock.is_doubtful:
            return PRUNE_EVERY_SECONDS
        now = self._clock.now()
        deleted = await self._store.write(lambda c: prune_some(c, now=now))
        return 0.0 if deleted >= BATCH else PRUNE_EVERY_SECONDS
