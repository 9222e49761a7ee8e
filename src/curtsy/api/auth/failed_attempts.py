"""Limits failed sign-ins per address and minute, which makes guessing keys slow."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

from curtsy.clock import MINUTE, SECOND, Clock
from curtsy.errors import KeyNeeded, OverLimit

MOST_FAILURES = 10
MOST_ADDRESSES = 10_000


class FailedAttempts:
    def __init__(self) -> None:
        self._minute = 0
        self._failures: dict[str, int] = {}
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def attempt(self, address: str, clock: Clock) -> AsyncIterator[None]:
        """Runs the attempts of one address one after the other, so that concurrent attempts cannot
        exceed the limit. Counts an attempt that raises `KeyNeeded`; successful ones do not count.
        Raises `OverLimit` after too many failures."""
        async with self._locks.setdefault(address, asyncio.Lock()):
            self._require_below_limit(address, clock)
            try:
                yield
            except KeyNeeded:
                if address in self._failures or len(self._failures) < MOST_ADDRESSES:
                    self._failures[address] = self._failures.get(address, 0) + 1
                raise

    def _require_below_limit(self, address: str, clock: Clock) -> None:
        now = clock.monotonic()
        if now // MINUTE != self._minute:
            self._minute = now // MINUTE
            self._failures.clear()
        if self._failures.get(address, 0) >= MOST_FAILURES:
            left = (self._minute + 1) * MINUTE - now
            raise OverLimit("Too many wrong keys from this address.", -(-left // SECOND))
