"""The heartbeat runs in its own thread on its own connection, so that neither a long flush nor a
busy event loop costs the lease. It stops when the event loop hangs, so that a hung worker loses its
sources.

Trust protects the sites: no request starts later than `sent + ttl - margin` of the last successful
heartbeat, on a clock that cannot be set.
"""

import asyncio
import random
import threading
from collections.abc import Callable

from curtsy.clock import Clock
from curtsy.errors import StoreAway, StoreFull
from curtsy.frontier.clock_sync import synchronise
from curtsy.frontier.worker_rows import WorkerRow, beat, register
from curtsy.logs import logger
from curtsy.periodic import Wake
from curtsy.store import Store

log = logger("worker")


class Heartbeat:
    def __init__(
        self,
        *,
        url: str,
        clock: Clock,
        row: WorkerRow,
        ttl: int,
        in_flight: Callable[[], list[int]],
        memory: Callable[[], int | None],
        on_end: Callable[[], None],
    ) -> None:
        self._url, self._clock, self._row, self._ttl = url, clock, row, ttl
        self._in_flight, self._memory, self._on_end = in_flight, memory, on_end
        self._loop = asyncio.get_running_loop()
        self._stop = threading.Event()
        self._registered = threading.Event()
        self._began = Wake()
        self._ticked_at = clock.monotonic()
        self._trust_until = 0
        self.draining = False
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)

    def trusted(self) -> bool:
        return self._clock.monotonic() < self._trust_until

    @property
    def registered(self) -> bool:
        return self._registered.is_set()

    def stop_beating(self) -> None:
        """Sends no more heartbeats, registered or not."""
        self._stop.set()

    def tick(self) -> None:
        """Called regularly by the event loop, as a sign of life."""
        self._ticked_at = self._clock.monotonic()

    async def start(self) -> None:
        """Returns once the worker is registered, which may have to wait for the store."""
        self._thread.start()
        while not self.registered and self._thread.is_alive():
            self.tick()
            await self._began.wait(0.2)

    async def stop(self) -> None:
        self._stop.set()
        await asyncio.to_thread(self._thread.join)

    def _run(self) -> None:
        try:
            asyncio.run(self._beat_until_stopped())
        except Exception:
            log.exception("heartbeat_failed", worker=self._row.id)
            self._loop.call_soon_threadsafe(self._on_end)

    async def _beat_until_stopped(self) -> None:
        async with Store(self._url, pool_size=1) as store:
            while not self._stop.is_set():
                pause = await self._step(store)
                await asyncio.to_thread(self._stop.wait, pause / 1000)

    async def _step(self, store: Store) -> int:
        """Sends one heartbeat; returns the milliseconds until the next."""
        silent = self._clock.monotonic() - self._ticked_at
        if silent > self._ttl // 3:
            log.error("loop_blocked", for_ms=silent, meaning="the lease is not renewed")
            return self._ttl // 15
        try:
            async with asyncio.timeout(self._ttl / 3000):
                await synchronise(store, self._clock)
                alive = await self._beat(store)
        except (StoreAway, StoreFull, TimeoutError) as away:
            log.warning("heartbeat_missed", worker=self._row.id, reason=str(away))
            return self._ttl // 30
        if not alive:
            log.error("declared_dead", worker=self._row.id, meaning="starting again as another")
            self._trust_until = 0
            self._stop.set()
            self._loop.call_soon_threadsafe(self._on_end)
        return int(self._ttl / 3 * random.uniform(0.8, 1.0))

    async def _beat(self, store: Store) -> bool:
        memory = self._memory()
        sent_at, now = self._clock.monotonic(), self._clock.now()
        if not self._registered.is_set():
            await store.write(
                lambda c: register(c, self._row, lease_until=now + self._ttl, now=now,
                                   memory_bytes=memory)
            )  # fmt: skip
            alive = True
        else:
            alive = await store.write(
                lambda c: beat(c, self._row.id, lease_until=now + self._ttl,
                               in_flight=self._in_flight(), draining=self.draining,
                               memory_bytes=memory)
            )  # fmt: skip
        if alive:
            self._trust_until = sent_at + self._ttl - self._ttl // 5
            if not self._registered.is_set():
                self._registered.set()
                self._loop.call_soon_threadsafe(self._began)
        return alive
