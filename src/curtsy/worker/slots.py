"""Places for open requests, shared by the bands: high goes first, low never starves."""

import asyncio
from collections import deque

from curtsy.model.jobs import Band

SHARES = {Band.HIGH: 0.5, Band.MEDIUM: 0.3, Band.LOW: 0.2}


class Slots:
    """No slot stays empty while anyone waits. A band below its share goes before one above it."""

    def __init__(self, size: int) -> None:
        self.size = self.free = size
        self._used = dict.fromkeys(Band, 0)
        self._waiting: dict[Band, deque[asyncio.Future[None]]] = {band: deque() for band in Band}

    def acquire_now(self, band: Band) -> bool:
        """A slot, if one is free: then nobody waits for it."""
        if self.free <= 0:
            return False
        self.free -= 1
        self._used[band] += 1
        return True

    async def acquire(self, band: Band) -> None:
        if self.acquire_now(band):
            return
        place = asyncio.get_running_loop().create_future()
        self._waiting[band].append(place)
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():
                self.release(band)
            raise

    def release(self, band: Band) -> None:
        self.free += 1
        self._used[band] -= 1
        self._pass_on()

    def _pass_on(self) -> None:
        while self.free > 0 and (band := self._next()) is not None:
            place = self._waiting[band].popleft()
            if not place.done():
                self.acquire_now(band)
                place.set_result(None)

    def _next(self) -> Band | None:
        waiting = [band for band in Band if self._waiting[band]]
        below = [band for band in waiting if self._used[band] < self.size * SHARES[band]]
        return min(below or waiting, default=None)
