"""Runs transactions beside the work: rests after each, so that they take a small share of the
time."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from curtsy.store import Connection, Statement, Store

T = TypeVar("T")

SHARE = 0.1
"""The part of the time that the transactions may take while workers are at work."""
LONGEST_REST_SECONDS = 5.0
LOOK_EVERY_SECONDS = 2.0
"""How often it looks whether there are workers."""

_WORKERS = Statement("SELECT 1 FROM workers LIMIT 1")

Sleep = Callable[[float], Awaitable[None]]


class WorkShare:
    """Runs reads and writes one after the other. Without workers it rests nowhere."""

    def __init__(
        self, store: Store, *, share: float = SHARE,
        seconds: Callable[[], float] = time.monotonic, sleep: Sleep = asyncio.sleep,
    ) -> None:  # fmt: skip
        self._store, self._share, self._seconds, self._sleep = store, share, seconds, sleep
        self._looked_at = -LOOK_EVERY_SECONDS
        self._has_workers = False

    async def read(self, work: Callable[[Connection], T]) -> T:
        timed = _Timed(work, self._seconds)
        result = await self._store.read(timed, large=True)
        await self.rest(timed.took)
        return result

    async def write(self, work: Callable[[Connection], T]) -> T:
        timed = _Timed(work, self._seconds)
        result = await self._store.write(timed, large=True)
        await self.rest(timed.took)
        return result

    async def write_all(self, work: Callable[[Connection], int], *, most: int) -> int:
        """Repeats a transaction until it deletes fewer than `most` rows; returns how many were
        deleted."""
        total = number = await self.write(work)
        while number >= most:
            number = await self.write(work)
            total += number
        return total

    async def rest(self, took: float) -> None:
        """Rests after a step whose statements took so many seconds. On a busy machine they take
        longer, and then the work is left alone for longer."""
        if await self._is_shared():
            await self._sleep(min(took * (1 / self._share - 1), LONGEST_REST_SECONDS))

    async def _is_shared(self) -> bool:
        now = self._seconds()
        if now - self._looked_at >= LOOK_EVERY_SECONDS:
            self._looked_at = now
            self._has_workers = bool(await self._store.read(lambda c: _WORKERS(c).scalar()))
        return self._has_workers


class _Timed(Generic[T]):
    """Measures the statements of a transaction, without its wait for other transactions."""

    def __init__(self, work: Callable[[Connection], T], seconds: Callable[[], float]) -> None:
        self._work, self._seconds = work, seconds
        self.took = 0.0

    def __call__(self, connection: Connection) -> T:
        began = self._seconds()
        try:
            return self._work(connection)
        finally:
            self.took = self._seconds() - began
