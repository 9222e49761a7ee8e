"""A short-lived cache of reads from the store, which batches concurrent misses."""

import asyncio
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Generic, TypeVar

from curtsy.api.backend import Backend
from curtsy.batcher import Batcher
from curtsy.errors import StoreAway
from curtsy.store import Connection

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")

CACHED_FOR = 1_000
"""Milliseconds until a change in the store takes effect, at most."""
MOST_ENTRIES = 10_000
KEYS_PER_READ = 256
ANSWER_WITHIN_SECONDS = 1.0
"""Less than the deadline of the request, which still has work to do; more than a busy event loop
blocks, for example while it sends an event to a thousand followers."""


class ReadCache(Generic[Key, Value]):
    """`look_up` reads many keys at once. Keys without a value are not cached, so that requests for
    unknown keys cannot evict known ones."""

    def __init__(
        self,
        backend: Backend,
        look_up: Callable[[Connection, Sequence[Key], int], Mapping[Key, Value]],
    ) -> None:
        self._backend, self._look_up = backend, look_up
        self._entries: dict[Key, tuple[int, Value]] = {}
        self._reads: Batcher[Key, Value | None] = Batcher(self._read, most=KEYS_PER_READ, at_once=1)

    async def get(self, key: Key) -> Value | None:
        now = self._backend.clock.monotonic()
        entry = self._entries.get(key)
        if entry is not None and now - entry[0] < CACHED_FOR:
            return entry[1]
        try:
            async with asyncio.timeout(ANSWER_WITHIN_SECONDS):
                value = await self._reads.submit(key)
        except TimeoutError:
            raise StoreAway(f"no answer within {ANSWER_WITHIN_SECONDS:g} seconds") from None
        if value is not None:
            self._put(key, value, now)
        return value

    def forget(self, key: Key) -> None:
        self._entries.pop(key, None)

    def forget_all(self) -> None:
        self._entries.clear()

    def _put(self, key: Key, value: Value, now: int) -> None:
        if len(self._entries) >= MOST_ENTRIES:
            self._entries.clear()
        self._entries[key] = (now, value)

    async def _read(self, keys: Sequence[Key]) -> list[Value | Exception | None]:
        found = await self._backend.read(
            lambda c: self._look_up(c, keys, self._backend.clock.now())
        )
        return [found.get(key) for key in keys]
