"""Limits the open requests of a worker. The bands share its slots: high goes first, low never
starves."""

import asyncio
from collections import deque

from curtsy.model.job_states import Band

SHARES = {Band.HIGH: 0.5, Band.MEDIUM: 0.3, Band.LOW: 0.2}


class WorkerSlots:
    """No slot stays free while a lane waits. A band below its share precedes one above it."""

    def __init__(self, size: int) -> None:
        self.size = self.free = size
        self._used = dict.fromkeys(Band, 0)
        self._shares = {band: size * SHARES[band] for band in Band}
        self._waiting: dict[Band, deque[asyncio.Future[None]]] = {band: deque() for band in Band}

    def acquire_now(self, band: Band) -> bool:
        """Takes a slot if one is free; then no lane waits for one."""
        if self.free <= 0:
            return False
        self.free -= 1
        self._used[band] += 1
        return True

    async def acquire(self, band: Band) -> None:
        if self.acquire_now(band):
            return
        future = asyncio.get_running_loop().create_future()
        self._waiting[band].append(future)
        try:
            await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled():
                self.release(band)
            raise

    def release(self, band: Band) -> None:
        self.free += 1
        self._used[band] -= 1
        self._grant()

    def _grant(self) -> None:
        while self.free > 0 and (band := self._next_band()) is not None:
            future = self._waiting[band].popleft()
            if not future.done():
                self.acquire_now(band)
                future.set_result(None)

    def _next_band(self) -> Band | None:
        first: Band | None = None
        for band, waiting in self._waiting.items():  # in the order of the bands
            if waiting:
                if self._used[band] < self._shares[band]:
                    return band
                first = first or band
        return first
