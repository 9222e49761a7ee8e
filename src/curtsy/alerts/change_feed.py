"""Passes changes of alerts to any number of followers; asks for new ones once for all of them."""

import asyncio
from collections.abc import AsyncGenerator

from curtsy.alerts.stored_changes import StoredChange, changes_after, end_of_changes
from curtsy.store import Store

POLL_SECONDS = 1.0
AT_ONCE = 100


class ChangeFeed:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._newest, self._read_at = 0, float("-inf")
        self._lock = asyncio.Lock()

    async def after(self, seq: int) -> AsyncGenerator[StoredChange]:
        """Yields every change after this number, once and in order, without end."""
        while True:
            if await self._newest_seq() <= seq:
                await asyncio.sleep(POLL_SECONDS)
                continue
            known = seq
            for change in await self._store.read(
                lambda c: changes_after(c, known, most=AT_ONCE)  # noqa: B023 - read at once
            ):
                seq = change.seq
                yield change

    async def _newest_seq(self) -> int:
        """The number of the newest change, as of at most a moment ago."""
        async with self._lock:
            now = asyncio.get_running_loop().time()
            if now - self._read_at >= POLL_SECONDS:
                self._newest = await self._store.read(end_of_changes)
                self._read_at = now
            return self._newest
