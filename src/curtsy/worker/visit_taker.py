"""Reads visits for all lanes of a worker: requests made during a read share the next one."""

import asyncio
from collections.abc import Sequence
from functools import partial

from curtsy.batcher import Batcher
from curtsy.clock import Clock
from curtsy.errors import StoreAway, StoreFull
from curtsy.frontier.take import Visit, Wish, take
from curtsy.logs import logger
from curtsy.store import Store

log = logger("worker")

AFTER_FAILURE_SECONDS = 0.5
WISHES_AT_ONCE = 200


class VisitTaker:
    def __init__(self, *, store: Store, clock: Clock) -> None:
        self._store, self._clock = store, clock
        self._reads = Batcher(self._read, most=WISHES_AT_ONCE, at_once=1)

    async def take(self, wish: Wish) -> list[Visit]:
        return await self._reads.ask(wish)

    async def _read(self, wishes: Sequence[Wish]) -> list[list[Visit] | Exception]:
        while True:
            try:
                taken = await self._store.read(partial(take, wishes=wishes, now=self._clock.now()))
            except (StoreAway, StoreFull) as away:
                log.warning("take_waits_for_store", reason=str(away))
                await asyncio.sleep(AFTER_FAILURE_SECONDS)
            else:
                return [taken[wish.source_id] for wish in wishes]
