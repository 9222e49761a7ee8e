"""The scheduler role: duties that any number of processes may do, with no leader to lose."""

import asyncio
from contextlib import suppress

from curtsy import duty
from curtsy.clock import Clock
from curtsy.logs import logger
from curtsy.operations.pruning import BATCH, prune_some
from curtsy.store import Store

log = logger("app")

PRUNE_EVERY_SECONDS = 60.0


class Scheduler:
    def __init__(self, *, store: Store, clock: Clock) -> None:
        self._store, self._clock = store, clock
        self._stopping = asyncio.Event()

    async def run(self) -> None:
        log.info("scheduler_started")
        duties = [asyncio.create_task(duty.run("prune", self.prune))]
        await self._stopping.wait()
        for task in duties:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        log.info("scheduler_stopped")

    async def stop(self) -> None:
        self._stopping.set()

    async def prune(self) -> float:
        """A duty: what has expired goes, a batch in each transaction."""
        now = self._clock.now()
        gone = await self._store.write(lambda c: prune_some(c, now=now))
        return 0.0 if gone >= BATCH else PRUNE_EVERY_SECONDS
