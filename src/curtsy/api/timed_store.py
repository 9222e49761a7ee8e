"""The store within a deadline, so that a request is answered in time whatever the database does.

Work that misses its deadline is cancelled but not awaited: closing a hung connection can hang too.
It may still be committed, so the error never says that nothing was kept.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from curtsy.errors import StoreAway
from curtsy.store import Connection, Store

T = TypeVar("T")

LEAVE_WITHIN_SECONDS = 5.0


class TimedStore:
    """Lives as long as the server; `close` waits a moment for abandoned work."""

    def __init__(self, store: Store, *, answer_within: float) -> None:
        self.store, self.answer_within = store, answer_within
        self._begun: set[asyncio.Task[Any]] = set()

    async def close(self) -> None:
        if self._begun:
            await asyncio.wait(self._begun, timeout=LEAVE_WITHIN_SECONDS)

    async def read(self, work: Callable[[Connection], T], more: float = 0.0) -> T:
        return await self.in_time(self.store.read(work), more)

    async def write(self, work: Callable[[Connection], T], more: float = 0.0) -> T:
        return await self.in_time(self.store.write(work, durable=True), more)

    async def in_time(self, work: Coroutine[Any, Any, T], more: float = 0.0) -> T:
        within = self.answer_within + more
        task = self.begin(work)
        try:
            await asyncio.wait([task], timeout=within)
        finally:
            task.cancel()
        if not task.done() or task.cancelled():
            raise no_answer(within)
        return task.result()

    def begin(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        task = asyncio.create_task(work)
        self._begun.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._begun.discard(task)
        if not task.cancelled():
            task.exception()  # one that comes after the answer is nobody's to collect


def no_answer(within: float) -> StoreAway:
    return StoreAway(f"no answer within {within:g} seconds")
