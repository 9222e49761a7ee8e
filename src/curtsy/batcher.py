"""Coalesces concurrent calls: requests that arrive during a batch form the next batch.

A single request is not kept waiting; under load many cost little more than one. A caller that gives
up leaves the others as they are. A batch that fails for a reason of one of its requests is split
until that request is alone with its error (`isolate`). When all callers of a batch have given up,
the work is cancelled but not awaited, since ending what hangs can hang too.
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
STORES_FAULT = (StoreAway, StoreFull)
"""Errors that no request causes: splitting a batch does not help against them."""


async def isolate(
    batch: Sequence[Request],
    work: Callable[[Sequence[Request]], Awaitable[T]],
    alone: Callable[[Request, Exception], Awaitable[T]],
    *,
    passes: tuple[type[Exception], ...] = STORES_FAULT,
) -> list[T]:
    """Runs `work` on the batch. If that raises, runs it on each half, down to the request that
    causes the error; `alone` says what becomes of that one. Errors in `passes` are raised."""
    try:
        return [await work(batch)]
    except passes:
        raise
    except Exception as error:
        if not batch:
            raise
        if len(batch) == 1:
            return [await alone(batch[0], error)]
    middle = len(batch) // 2
    first = await isolate(batch[:middle], work, alone, passes=passes)
    return first + await isolate(batch[middle:], work, alone, passes=passes)


class Batcher(Generic[Request, Answer]):
    """`answer` returns for each request of a batch its answer, or the error that is its own."""

    def __init__(
        self,
        answer: Callable[[Sequence[Request]], Coroutine[Any, Any, Sequence[Answer | Exception]]],
        *,
        most: int,
        at_once: int,
    ) -> None:
        self._answer, self._most, self._at_once = answer, most, at_once
        self._waiting: deque[Waiting[Request, Answer]] = deque()
        self._at_work = 0
        self._begun: set[asyncio.Task[Any]] = set()

    async def ask(self, request: Request) -> Answer:
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting.append((request, future))
        if self._at_work < self._at_once:
            self._at_work += 1
            self._begin(self._answer_waiting())
        return await future

    async def _answer_waiting(self) -> None:
        while self._waiting:
            batch: list[Waiting[Request, Answer]] = []
            while self._waiting and len(batch) < self._most:
                waiting = self._waiting.popleft()
                if not waiting[1].done():
                    batch.append(waiting)
            if batch:
                await self._answer_batch(batch)
        self._at_work -= 1  # in the same step as the look that found nothing waiting

    async def _answer_batch(self, batch: Sequence[Waiting[Request, Answer]]) -> None:
        work = self._begin(self._answers([request for request, _future in batch]))
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

    async def _answers(self, requests: Sequence[Request]) -> list[Answer | Exception]:
        pieces = await isolate(requests, self._answer, _own_error)
        return [answer for piece in pieces for answer in piece]

    def _begin(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        task = asyncio.create_task(work)
        self._begun.add(task)
        task.add_done_callback(self._collect)
        return task

    def _collect(self, work: asyncio.Task[Any]) -> None:
        self._begun.discard(work)
        if not work.cancelled():
            work.exception()  # nobody waits for an error that comes after all answers


async def _own_error(_request: object, error: Exception) -> Sequence[Any]:
    return [error]


def _when_done(futures: Sequence[asyncio.Future[Answer]]) -> asyncio.Future[None]:
    """Done as soon as each of the futures is: answered, or abandoned by its caller."""
    done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    left = len(futures)

    def one_less(_future: asyncio.Future[Answer]) -> None:
        nonlocal left
        left -= 1
        if not left and not done.done():
            done.set_result(None)

    for future in futures:
        future.add_done_callback(one_less)
    return done
