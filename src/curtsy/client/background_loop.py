"""Runs coroutines for programs without an event loop: each call blocks until its result."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Coroutine, Generator
from concurrent.futures import Future, wait
from typing import Any, TypeVar

T = TypeVar("T")


class BackgroundLoop:
    """An event loop in its own thread, for the lifetime of the client."""

    def __init__(self, loop: asyncio.AbstractEventLoop | None = None) -> None:
        self._loop = loop or asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="curtsy", daemon=True)
        self._thread.start()
        self._open: set[AsyncGenerator[Any]] = set()

    @property
    def is_closed(self) -> bool:
        return self._loop.is_closed()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs `work` to its end. An interrupted caller cancels it and waits until it is gone."""
        ended: Future[asyncio.Task[T]] = Future()
        begun: list[asyncio.Task[T]] = []

        def begin() -> None:
            task = self._loop.create_task(work)
            task.add_done_callback(ended.set_result)
            begun.append(task)

        def end() -> None:
            if begun:
                begun[0].cancel()
            else:  # the interrupt came before it was begun
                work.close()
                ended.cancel()
                ended.set_running_or_notify_cancel()

        try:
            self._loop.call_soon_threadsafe(begin)
            return ended.result().result()
        except BaseException:
            if not ended.done():
                self._loop.call_soon_threadsafe(end)
                wait([ended])
            raise

    def iterate(self, found: AsyncGenerator[T]) -> Generator[T]:
        """Yields what `found` yields, and closes it."""
        self._open.add(found)
        try:
            while True:
                try:
                    yield self.run(anext(found))
                except StopAsyncIteration:
                    return
        finally:
            if found in self._open:  # closing the client has closed it already
                self._open.discard(found)
                self.run(found.aclose())

    def close(self) -> None:
        """Cancels what still runs, whichever thread waits for it, and ends the thread."""
        self.run(self._cancel_all())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def close_open(self) -> None:
        """Closes what callers have not read to its end."""
        while self._open:
            await self._open.pop().aclose()

    async def _cancel_all(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await self.close_open()
