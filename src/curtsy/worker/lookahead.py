"""What a lane sees of its queue: about a second of work ahead, never older than a second."""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial

from curtsy.batcher import Batcher
from curtsy.clock import Clock
from curtsy.errors import StoreAway, StoreFull
from curtsy.frontier.take import TakeRequest, Visit, take
from curtsy.logs import logger
from curtsy.store import Store
from curtsy.worker.visit_buffer import VisitBuffer

LOOK_EVERY = 900
LOOK_BEFORE = 150
"""Milliseconds before a start: a view that would be old by then is renewed while it waits."""
READ_AHEAD = (4, 64)
"""At least and at most so many visits are read at a time."""
LEAST_DELAY = 30


log = logger("worker")

AFTER_FAILURE_SECONDS = 0.5
WISHES_AT_ONCE = 200


class VisitTaker:
    def __init__(self, *, store: Store, clock: Clock) -> None:
        self._store, self._clock = store, clock
        self._reads = Batcher(self._read, most=WISHES_AT_ONCE, at_once=1)

    async def take(self, wish: TakeRequest) -> list[Visit]:
        return await self._reads.submit(wish)

    async def _read(self, wishes: Sequence[TakeRequest]) -> list[list[Visit] | Exception]:
        while True:
            try:
                taken = await self._store.read(partial(take, wishes=wishes, now=self._clock.now()))
            except (StoreAway, StoreFull) as away:
                log.warning("take_waits_for_store", reason=str(away))
                await asyncio.sleep(AFTER_FAILURE_SECONDS)
            else:
                return [taken[wish.source_id] for wish in wishes]


class Lookahead:
    def __init__(
        self, reading: VisitBuffer, *, taker: VisitTaker, monotonic: Callable[[], int]
    ) -> None:
        self._reading, self._taker, self._monotonic = reading, taker, monotonic
        self._looked_at: int | None = None
        self._rate: int | None = None
        self._started = 0
        self.saw_visits = False

    def is_stale(self, after: int = 0) -> bool:
        """Too old, now or so many milliseconds later."""
        looked_at = self._looked_at
        return looked_at is None or self._monotonic() + after - looked_at >= LOOK_EVERY

    def nap(self, wait: int) -> int:
        """How much of a wait may pass before the next look at the view."""
        return wait - LOOK_BEFORE if wait > LOOK_BEFORE and self.is_stale(wait) else wait

    def outdate(self) -> None:
        """Something changed in the store: look there before anything else starts."""
        self._looked_at = None

    def started(self) -> None:
        self._started += 1

    def known(self, wait: int) -> Visit | None:
        """The best visit read before, while that is no more than a second ago; or will be, where
        it starts in a moment."""
        return None if self.is_stale(_a_moment(wait)) else self._reading.pop()

    async def read(self, min_delay: int, wait: int = 0) -> Visit | None:
        """The best visit there is, for a start after so long a wait."""
        stale = self.is_stale(_a_moment(wait))
        if stale or not self._reading:
            if stale:
                if self._looked_at is not None:
                    self._rate = self._started
                self._started = 0
                self._looked_at = self._monotonic()
            ahead = self._ahead(min_delay)
            self._reading.add(await self._taker.take(self._reading.wish(ahead, rewind=stale)))
            if not self._reading.held:
                wish = self._reading.wish(ahead, rewind=True, from_zero=True)
                self._reading.add(await self._taker.take(wish))
        visit = self._reading.pop()
        self.saw_visits = self.saw_visits or visit is not None
        return visit

    def _ahead(self, min_delay: int) -> int:
        """How many visits to read: about as many as were needed in the last second."""
        least, most = READ_AHEAD
        expected = 1000 // max(LEAST_DELAY, min_delay)
        return max(least, min(most, expected if self._rate is None else self._rate))


def _a_moment(wait: int) -> int:
    return wait if wait <= LOOK_BEFORE else 0
