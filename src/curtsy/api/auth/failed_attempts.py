"""Guessing keys is made slow: so many wrong ones from one address in a minute, and no more."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

from curtsy.clock import MINUTE, SECOND, Clock
from curtsy.errors import KeyNeeded, OverLimit

MOST_WRONG = 10
MOST_ADDRESSES = 10_000


class FailedAttempts:
    def __init__(self) -> None:
        self._minute = 0
        self._wrong: dict[str, int] = {}
        self._trying: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def one_try(self, address: str, clock: Clock) -> AsyncIterator[None]:
        """One after the other from each address, so that many at once get no further and right
        ones hinder nobody. `KeyNeeded` counts."""
        async with self._trying.setdefault(address, asyncio.Lock()):
            self._require_few(address, clock)
            try:
                yield
            except KeyNeeded:
                if address in self._wrong or len(self._wrong) < MOST_ADDRESSES:
                    self._wrong[address] = self._wrong.get(address, 0) + 1
                raise

    def _require_few(self, address: str, clock: Clock) -> None:
        now = clock.monotonic()
        if now // MINUTE != self._minute:
            self._minute = now // MINUTE
            self._wrong.clear()
        if self._wrong.get(address, 0) >= MOST_WRONG:
            left = (self._minute + 1) * MINUTE - now
            raise OverLimit("Too many wrong keys from this address.", -(-left // SECOND))
