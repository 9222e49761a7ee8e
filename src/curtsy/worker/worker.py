"""The worker: runs one session after another until it is stopped."""

import asyncio
from collections.abc import Callable

from curtsy.clock import Clock
from curtsy.extract import Pool
from curtsy.fetch import Fetcher
from curtsy.periodic import Wake
from curtsy.store import Store
from curtsy.worker.memory_watch import MemoryWatch
from curtsy.worker.pipeline import Pipeline
from curtsy.worker.resident_memory import resident_bytes
from curtsy.worker.robots_cache import RobotsCache
from curtsy.worker.session import Session
from curtsy.worker.settings import WorkerSettings
from curtsy.worker.webhook_sender import WebhookSender, webhook_fetcher

__all__ = ["Worker", "WorkerSettings"]


class Worker:
    """Calls `on_commit` after each commit of results, to notify followers of events, `on_offer`
    after it released a source for other workers, and `on_memory` with the bytes when its memory
    stays above its limit."""

    def __init__(
        self, *, store: Store, clock: Clock, settings: WorkerSettings,
        on_commit: Callable[[], None] = lambda: None, on_offer: Callable[[], None] = lambda: None,
        on_memory: Callable[[int], None] = lambda _used: None,
    ) -> None:  # fmt: skip
        self._on_commit, self._on_offer, self._on_memory = on_commit, on_offer, on_memory
        self._store, self._clock, self._settings = store, clock, settings
        self.wake = Wake()
        """Call it when new work was stored; without the call the work is found a moment later."""
        self._session: Session | None = None
        self._stopping = False
        self._recorded = 0

    @property
    def recorded(self) -> int:
        """The number of results that this worker stored."""
        return self._recorded + (self._session.recorded if self._session is not None else 0)

    async def run(self) -> None:
        settings = self._settings
        fetcher = Fetcher(
            limits=settings.limits,
            user_agent=settings.user_agent,
            allow=settings.allow,
            allow_proxies=settings.allow_proxies,
        )
        webhooks = webhook_fetcher(settings.user_agent, settings.allow)
        async with fetcher, webhooks, Pool(settings.extract, own=settings.own) as pool:
            sender = WebhookSender(store=self._store, clock=self._clock, fetcher=webhooks)
            robots = RobotsCache(store=self._store, clock=self._clock, fetcher=fetcher,
                                 user_agent=settings.user_agent)  # fmt: skip
            pipeline = Pipeline(
                robots=robots, fetcher=fetcher, pool=pool,
                now=self._clock.now, max_redirects=settings.max_redirects,
            )  # fmt: skip
            memory = self._memory_watch(pool)
            while not self._stopping:
                self._recorded = self.recorded
                self._session = Session(store=self._store, clock=self._clock, pipeline=pipeline,
                                        settings=settings, wake=self.wake,
                                        on_commit=self._on_commit, sender=sender,
                                        memory=memory,
                                        on_offer=self._on_offer)  # fmt: skip
                await self._session.run()
            await robots.stored()

    def _memory_watch(self, pool: Pool) -> MemoryWatch:
        loop = asyncio.get_running_loop()

        def on_exceeded(used: int) -> None:
            loop.call_soon_threadsafe(self._on_memory, used)

        return MemoryWatch(
            limit=self._settings.memory_bytes, monotonic=self._clock.monotonic,
            measure=lambda: resident_bytes(pool.servers()), on_exceeded=on_exceeded,
        )  # fmt: skip

    async def stop(self) -> None:
        """Drains the worker: open requests may finish, results are stored, sources released."""
        self._stopping = True
        if self._session is not None:
            await self._session.drain(self._settings.drain_seconds)
