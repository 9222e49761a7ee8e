"""What the store said a moment ago, so that not every request has to ask it again."""

import asyncio
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Generic, TypeVar

from curtsy.api.backend import Backend
from curtsy.batcher import Batcher
from curtsy.errors import StoreAway
from curtsy.store import Connection

Question = TypeVar("Question", bound=Hashable)
Answer = TypeVar("Answer")

KEPT_FOR = 1_000
"""Milliseconds: what changes in the store holds no later."""
MOST_KEPT = 10_000
TOGETHER = 256
ANSWER_WITHIN_SECONDS = 1.0
"""Less than a request has, since that is yet to be answered; more than a busy loop stands still,
as when it tells a thousand followers something."""


class ReadCache(Generic[Question, Answer]):
    """`look_up` finds many at once. What it does not find is not kept, so that asking for what is
    not there cannot push out what is."""

    def __init__(
        self,
        backend: Backend,
        look_up: Callable[[Connection, Sequence[Question], int], Mapping[Question, Answer]],
    ) -> None:
        self._backend, self._look_up = backend, look_up
        self._kept: dict[Question, tuple[int, Answer]] = {}
        self._asked: Batcher[Question, Answer | None] = Batcher(self._ask, most=TOGETHER, at_once=1)

    async def answer(self, question: Question) -> Answer | None:
        now = self._backend.clock.monotonic()
        kept = self._kept.get(question)
        if kept is not None and now - kept[0] < KEPT_FOR:
            return kept[1]
        try:
            async with asyncio.timeout(ANSWER_WITHIN_SECONDS):
                answer = await self._asked.submit(question)
        except TimeoutError:
            raise StoreAway(f"no answer within {ANSWER_WITHIN_SECONDS:g} seconds") from None
        if answer is not None:
            self._keep(question, answer, now)
        return answer

    def forget(self, question: Question) -> None:
        self._kept.pop(question, None)

    def _keep(self, question: Question, answer: Answer, now: int) -> None:
        if len(self._kept) >= MOST_KEPT:
            self._kept.clear()
        self._kept[question] = (now, answer)

    async def _ask(self, questions: Sequence[Question]) -> list[Answer | Exception | None]:
        found = await self._backend.read(
            lambda c: self._look_up(c, questions, self._backend.clock.now())
        )
        return [found.get(question) for question in questions]
