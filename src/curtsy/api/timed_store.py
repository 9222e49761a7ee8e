"""The store with a deadline, so that a request is answered in time whatever the database does.

Work that misses its deadline is cancelled but not awaited: closing a hung connection can hang too.
Such work may still be committed, so the error never claims that nothing was stored.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from curtsy.errors import StoreAway
from curtsy.store import Connection, Store

T = TypeVar("T")

CLOSE_WITHIN_SECONDS = 5.0


class TimedStore:
    """Lives as long as the server; `close` waits a moment for abandoned work."""

    def __init__(self, store: Store, *, answer_within: float) -> None:
        self.store, self.answer_within = store, answer_within
        self._tasks: set[asyncio.Task[Any]] = set()

    async def close(self) -> None:
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=CLOSE_WITHIN_SECONDS)

    async def read(
        self, work: Callable[[Connection], T], more: float = 0.0, *, large: bool = False
    ) -> T:
        """`more`: seconds beyond the usual deadline."""
        return await self.in_time(self.store.read(work, large=large), more)

    async def write(
        self, work: Callable[[Connection], T], more: float = 0.0, *, large: bool = False
    ) -> T:
        return await self.in_time(self.store.write(work, durable=True, large=large), more)

    async def in_time(self, work: Coroutine[Any, Any, T], more: float = 0.0) -> T:
        """Raises `StoreAway` when the work misses its deadline."""
        within = self.answer_within + more
        task = self.start(work)
        try:
            await asyncio.wait([task], timeout=within)
        finally:
            task.cancel()
        if not task.done() or task.cancelled():
            raise deadline_missed(within)
        return task.result()

    def start(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Runs the work in the background, without a deadline."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # retrieved, so that asyncio does not log errors of abandoned work


def deadline_missed(within: float) -> StoreAway:
    return StoreAway(f"no answer within {within:g} seconds")
