"""The scheduler role: duties that any number of processes may do, with no leader to lose."""

import asyncio
from contextlib import suppress

from curtsy import periodic
from curtsy.clock import Clock
from curtsy.errors import StoreAway, StoreFull
from curtsy.logs import logger
from curtsy.maintenance.pruning import BATCH, prune_some
from curtsy.schedules.ticker import Ticker
from curtsy.sites.records import gather_next, sites_to_gather
from curtsy.sites.run_log import log_run
from curtsy.sites.run_timeout import Overdue
from curtsy.store import Store

log = logger("app")

PRUNE_EVERY_SECONDS = 60.0
GATHER_EVERY_SECONDS = 2.0


class Scheduler:
    def __init__(self, *, store: Store, clock: Clock, ticker: Ticker, run_timeout: int) -> None:
        self._store, self._clock, self._ticker = store, clock, ticker
        self._overdue = Overdue(store=store, clock=clock, run_timeout=run_timeout)
        self._stopping = asyncio.Event()

    async def run(self) -> None:
        log.info("scheduler_started", scheduler=self._ticker.id)
        duties = [
            asyncio.create_task(periodic.run("prune", self.prune)),
            asyncio.create_task(periodic.run("fire", self._ticker.step, self._ticker.wake)),
            asyncio.create_task(periodic.run("do", self._ticker.owed.step, self._ticker.owed.wake)),
            asyncio.create_task(periodic.run("gather", self.gather)),
            asyncio.create_task(periodic.run("end_overdue_runs", self._overdue.step)),
        ]
        await self._stopping.wait()
        for task in duties:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        await self._ticker.leave()
        log.info("scheduler_stopped", scheduler=self._ticker.id)

    async def stop(self) -> None:
        self._stopping.set()

    async def gather(self) -> float:
        """A duty: records of runs that ended are compared with those before. A site that cannot be
        done keeps no other from it."""
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
            lambda c: gather_next(c, site, now=self._clock.now())
        ):
            log_run("run_ended", site, *ended)

    async def prune(self) -> float:
        """A duty: what has expired goes, a batch in each transaction."""
        now = self._clock.now()
        gone = await self._store.write(lambda c: prune_some(c, now=now))
        return 0.0 if gone >= BATCH else PRUNE_EVERY_SECONDS
