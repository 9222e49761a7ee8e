"""What is asked while an answer is on its way is answered together with the next.

One asked alone is not kept waiting; under load many cost little more than one. Nobody's patience
is another's: who gives up leaves the rest as they are. Nor is anybody's bad question: a batch that
fails, and not because the store does, is asked one by one. When all have given up, the work is told
to stop but not waited for, since the end of what hangs can hang too.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Generic, TypeVar

from curtsy.errors import StoreAway, StoreFull

Question = TypeVar("Question")
Answer = TypeVar("Answer")
T = TypeVar("T")

Asked = tuple[Question, asyncio.Future[Answer]]


class Gathering(Generic[Question, Answer]):
    """`answer` gives each question of a batch its answer, or the error that is its own."""

    def __init__(
        self,
        answer: Callable[[Sequence[Question]], Coroutine[Any, Any, Sequence[Answer | Exception]]],
        *,
        most: int,
        at_once: int,
    ) -> None:
        self._answer, self._most, self._at_once = answer, most, at_once
        self._waiting: deque[Asked[Question, Answer]] = deque()
        self._at_work = 0
        self._begun: set[asyncio.Task[Any]] = set()

    async def ask(self, question: Question) -> Answer:
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting.append((question, future))
        if self._at_work < self._at_once:
            self._at_work += 1
            self._begin(self._answer_waiting())
        return await future

    async def _answer_waiting(self) -> None:
        while self._waiting:
            batch: list[Asked[Question, Answer]] = []
            while self._waiting and len(batch) < self._most:
                asked = self._waiting.popleft()
                if not asked[1].done():
                    batch.append(asked)
            if batch:
                await self._answer_batch(batch)
        self._at_work -= 1  # in the same step as the look that found nothing waiting

    async def _answer_batch(self, batch: Sequence[Asked[Question, Answer]]) -> None:
        work = self._begin(self._answer([question for question, _future in batch]))
        all_gone = _when_done([future for _question, future in batch])
        first: set[asyncio.Future[Any]] = {work, all_gone}
        await asyncio.wait(first, return_when=asyncio.FIRST_COMPLETED)
        if not work.done():
            work.cancel()
            return
        error = work.exception()
        if len(batch) > 1 and error is not None and not isinstance(error, StoreAway | StoreFull):
            for asked in batch:
                if not asked[1].done():
                    await self._answer_batch([asked])
            return
        answers = [error] * len(batch) if error is not None else work.result()
        for (_question, future), answer in zip(batch, answers, strict=True):
            if future.done():
                continue
            if isinstance(answer, BaseException):
                future.set_exception(answer)
            else:
                future.set_result(answer)

    def _begin(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        task = asyncio.create_task(work)
        self._begun.add(task)
        task.add_done_callback(self._collect)
        return task

    def _collect(self, work: asyncio.Task[Any]) -> None:
        self._begun.discard(work)
        if not work.cancelled():
            work.exception()  # what comes after all answers is nobody's


def _when_done(futures: Sequence[asyncio.Future[Answer]]) -> asyncio.Future[None]:
    """Done as soon as each of the futures is, by an answer or because nobody waits for it."""
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
