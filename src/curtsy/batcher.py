"""Coalesces concurrent calls: requests that arrive during a batch form the next batch.

A single request starts at once; under load a batch costs little more than one request. A cancelled
caller does not affect the other callers. A batch that fails because of one of its requests is split
until only that request gets the error (`isolate`). When all callers of a batch are cancelled, the
work is cancelled but not awaited, because work that hangs may hang in its cancellation too.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, Generic, TypeVar

from curtsy.errors import StoreAway, StoreFull

Request = TypeVar("Request")
Answer = TypeVar("Answer")
T = TypeVar("T")

Waiting = tuple[Request, asyncio.Future[Answer]]
STORE_ERRORS = (StoreAway, StoreFull)
"""Errors that no request causes: splitting a batch does not help."""


async def isolate(
    batch: Sequence[Request],
    work: Callable[[Sequence[Request]], Awaitable[T]],
    on_single: Callable[[Request, Exception], Awaitable[T]],
    *,
    passes: tuple[type[Exception], ...] = STORE_ERRORS,
) -> list[T]:
    """Runs `work` on the batch. If `work` raises, runs it on each half, down to the request that
    causes the error, and calls `on_single` for that request. Errors in `passes` are raised."""
    try:
        return [await work(batch)]
    except passes:
        raise
    except Exception as error:
        if not batch:
            raise
        if len(batch) == 1:
            return [await on_single(batch[0], error)]
    middle = len(batch) // 2
    first = await isolate(batch[:middle], work, on_single, passes=passes)
    return first + await isolate(batch[middle:], work, on_single, passes=passes)


class Batcher(Generic[Request, Answer]):
    """`process` returns an answer or an error for each request of a batch."""

    def __init__(
        self,
        process: Callable[[Sequence[Request]], Coroutine[Any, Any, Sequence[Answer | Exception]]],
        *,
        most: int,
        at_once: int,
    ) -> None:
        self._process, self._most, self._at_once = process, most, at_once
        self._waiting: deque[Waiting[Request, Answer]] = deque()
        self._active = 0
        self._running: set[asyncio.Task[Any]] = set()

    async def submit(self, request: Request) -> Answer:
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting.append((request, future))
        if self._active < self._at_once:
            self._active += 1
            self._start(self._process_waiting())
        return await future

    async def _process_waiting(self) -> None:
        while self._waiting:
            batch: list[Waiting[Request, Answer]] = []
            while self._waiting and len(batch) < self._most:
                waiting = self._waiting.popleft()
                if not waiting[1].done():
                    batch.append(waiting)
            if batch:
                await self._process_batch(batch)
        self._active -= 1  # no await since the check of the queue, so no request is left behind

    async def _process_batch(self, batch: Sequence[Waiting[Request, Answer]]) -> None:
        work = self._start(self._process_isolated([request for request, _future in batch]))
        all_gone = _when_done([future for _request, future in batch])
        first: set[asyncio.Future[Any]] = {work, all_gone}
        await asyncio.wait(first, return_when=asyncio.FIRST_COMPLETED)
        if not work.done():
            work.cancel()
            return
        error = work.exception()
        answers = [error] * len(batch) if error is not None else work.result()
        for (_request, future), answer in zip(batch, answers, strict=True):
            if future.done():
                continue
            if isinstance(answer, BaseException):
                future.set_exception(answer)
            else:
                future.set_result(answer)

    async def _process_isolated(self, requests: Sequence[Request]) -> list[Answer | Exception]:
        pieces = await isolate(requests, self._process, _own_error)
        return [answer for piece in pieces for answer in piece]

    def _start(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        task = asyncio.create_task(work)
        self._running.add(task)
        task.add_done_callback(self._finished)
        return task

    def _finished(self, work: asyncio.Task[Any]) -> None:
        self._running.discard(work)
        if not work.cancelled():
            work.exception()  # marks the error as retrieved, even if all callers have gone


async def _own_error(_request: object, error: Exception) -> Sequence[Any]:
    return [error]


def _when_done(futures: Sequence[asyncio.Future[Answer]]) -> asyncio.Future[None]:
    """Returns a future that is done when all futures are answered or cancelled by their callers."""
    done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    open_futures = len(futures)

    def count_down(_future: asyncio.Future[Answer]) -> None:
        nonlocal open_futures
        open_futures -= 1
        if not open_futures and not done.done():
            done.set_result(None)

    for future in futures:
        future.add_done_callback(count_down)
    return done
