"""Reads a lane's queue about a second of work ahead; no visit starts from an older reading."""

import asyncio
from collections.abc import Callable, Sequence

from curtsy.batcher import Batcher
from curtsy.clock import Clock
from curtsy.errors import StoreAway, StoreFull
from curtsy.frontier.take import TakeRequest, Visit, take
from curtsy.logs import logger
from curtsy.store import Store
from curtsy.worker.visit_buffer import VisitBuffer

READ_EVERY = 900
READ_BEFORE = 150
"""Milliseconds before a start at which a reading that would be stale by then is renewed."""
READ_AHEAD = (4, 64)
"""The least and the most visits per reading."""
LEAST_DELAY = 30


log = logger("worker")

AFTER_FAILURE_SECONDS = 0.5
TAKES_PER_READ = 200


class VisitTaker:
    def __init__(self, *, store: Store, clock: Clock) -> None:
        self._store, self._clock = store, clock
        self._reads = Batcher(self._read, most=TAKES_PER_READ, at_once=1)

    async def take(self, request: TakeRequest) -> list[Visit]:
        return await self._reads.submit(request)

    async def _read(self, requests: Sequence[TakeRequest]) -> list[list[Visit] | Exception]:
        while True:
            try:
                taken = await self._store.read(lambda c: take(c, requests, now=self._clock.now()))
            except (StoreAway, StoreFull) as away:
                log.warning("take_waits_for_store", reason=str(away))
                await asyncio.sleep(AFTER_FAILURE_SECONDS)
            else:
                return [taken[request.source_id] for request in requests]


class Lookahead:
    def __init__(
        self, buffer: VisitBuffer, *, taker: VisitTaker, monotonic: Callable[[], int]
    ) -> None:
        self._buffer, self._taker, self._monotonic = buffer, taker, monotonic
        self._read_at: int | None = None
        self._rate: int | None = None
        self._started = 0
        self.saw_visits = False

    def is_stale(self, after: int = 0) -> bool:
        """Whether the last reading is too old, now or `after` milliseconds later."""
        read_at = self._read_at
        return read_at is None or self._monotonic() + after - read_at >= READ_EVERY

    def pause_before_read(self, wait: int) -> int:
        """Returns how much of a wait may pass before the queue must be read again."""
        return wait - READ_BEFORE if wait > READ_BEFORE and self.is_stale(wait) else wait

    def invalidate(self) -> None:
        """The store has changed: read it before the next visit starts."""
        self._read_at = None

    def started(self) -> None:
        self._started += 1

    def known(self, wait: int) -> Visit | None:
        """Returns the best visit of the last reading, unless the reading is stale, or will be when
        a visit with a short wait starts."""
        return None if self.is_stale(_short_wait(wait)) else self._buffer.pop()

    async def read(self, min_delay: int, wait: int = 0) -> Visit | None:
        """Returns the best visit for a start after `wait`, reading the queue if necessary."""
        stale = self.is_stale(_short_wait(wait))
        if stale or not self._buffer:
            if stale:
                if self._read_at is not None:
                    self._rate = self._started
                self._started = 0
                self._read_at = self._monotonic()
            ahead = self._ahead(min_delay)
            self._buffer.add(await self._taker.take(self._buffer.take_request(ahead, rewind=stale)))
            if not self._buffer.held:
                request = self._buffer.take_request(ahead, rewind=True, from_zero=True)
                self._buffer.add(await self._taker.take(request))
        visit = self._buffer.pop()
        self.saw_visits = self.saw_visits or visit is not None
        return visit

    def _ahead(self, min_delay: int) -> int:
        """Returns how many visits to read: about as many as were started in the last second."""
        least, most = READ_AHEAD
        expected = 1000 // max(LEAST_DELAY, min_delay)
        return max(least, min(most, expected if self._rate is None else self._rate))


def _short_wait(wait: int) -> int:
    return wait if wait <= READ_BEFORE else 0
