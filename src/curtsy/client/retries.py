"""What may pass is waited for: a store that is away, a server that starts again.

But not by one who was never answered there: it may be that there is nobody, however long one
waits. Who says how long to wait, waits so long either way.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from curtsy.client.http import ApiConnection, Declined, Unanswered
from curtsy.errors import CurtsyError

T = TypeVar("T")

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 2.0
"""Seconds until the same is asked again."""


class NotInTime(CurtsyError):
    code = "not_in_time"


class Patience:
    def __init__(self, talk: ApiConnection, *, timeout: float | None = None) -> None:
        self._talk, self._is_bounded = talk, timeout is not None
        self._pause = FIRST_PAUSE

    def answered(self) -> None:
        self._talk.was_answered, self._pause = True, FIRST_PAUSE

    async def bear(self, error: Declined | Unanswered) -> None:
        """Waits a while; raises the error where that does not help."""
        if isinstance(error, Declined):
            if not error.store_is_away:
                raise error
        elif not (self._talk.was_answered or self._is_bounded):
            raise error
        await self.pause()

    async def pause(self) -> None:
        await asyncio.sleep(self._pause)
        self._pause = min(self._pause * 2, LONGEST_PAUSE)

    async def ask(self, question: Callable[[], Awaitable[T]]) -> T:
        """Again and again, until there is an answer."""
        while True:
            try:
                answer = await question()
            except (Declined, Unanswered) as error:
                await self.bear(error)
            else:
                self.answered()
                return answer


class Until:
    """So many seconds from now; None: whenever it comes."""

    def __init__(self, timeout: float | None, job: str) -> None:
        self._timeout, self._job = timeout, job
        now = asyncio.get_running_loop().time()
        self._at = None if timeout is None else now + timeout

    async def comes(self, what: Awaitable[T]) -> T:
        """Raises `NotInTime`."""
        try:
            async with asyncio.timeout_at(self._at):
                return await what
        except TimeoutError:
            sentence = f"{self._job} has not ended within {self._timeout:g} seconds."
            raise NotInTime(sentence) from None
