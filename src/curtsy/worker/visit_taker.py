"""Lanes read their visits together: wishes made in the same moment are one question."""

import asyncio
from functools import partial

from curtsy.clock import Clock
from curtsy.errors import StoreAway, StoreFull
from curtsy.frontier.take import Visit, Wish, take
from curtsy.logs import logger
from curtsy.store import Store

log = logger("worker")

AFTER_FAILURE_SECONDS = 0.5
WISHES_AT_ONCE = 200


class Taker:
    def __init__(self, *, store: Store, clock: Clock) -> None:
        self._store, self._clock = store, clock
        self._wishes: list[tuple[Wish, asyncio.Future[list[Visit]]]] = []
        self._wished = asyncio.Event()

    async def take(self, wish: Wish) -> list[Visit]:
        answer: asyncio.Future[list[Visit]] = asyncio.get_running_loop().create_future()
        self._wishes.append((wish, answer))
        self._wished.set()
        return await answer

    async def run(self) -> None:
        while True:
            await self._wished.wait()
            batch, self._wishes = self._wishes[:WISHES_AT_ONCE], self._wishes[WISHES_AT_ONCE:]
            if not self._wishes:
                self._wished.clear()
            await self._answer([(w, answer) for w, answer in batch if not answer.done()])

    async def _answer(self, batch: list[tuple[Wish, asyncio.Future[list[Visit]]]]) -> None:
        wishes = [wish for wish, _answer in batch]
        while True:
            try:
                taken = await self._store.read(partial(take, wishes=wishes, now=self._clock.now()))
                break
            except (StoreAway, StoreFull) as away:
                log.warning("take_waits_for_store", reason=str(away))
                await asyncio.sleep(AFTER_FAILURE_SECONDS)
        for wish, answer in batch:
            if not answer.done():
                answer.set_result(taken[wish.source_id])
