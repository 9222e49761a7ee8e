"""Retries while a failure may pass: a database that is away, a server that restarts.

A server that never answered this client is not waited for, since there may be none at that address.
A caller with a timeout retries until the timeout either way.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from curtsy.client.http import ApiConnection, Declined, Unanswered
from curtsy.errors import CurtsyError

T = TypeVar("T")

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 2.0
"""Seconds between two tries; the pause doubles."""


class NotInTime(CurtsyError):
    """The job did not end within the caller's timeout."""

    code = "not_in_time"


class Patience:
    """Decides which failures to wait out, and how long to pause between tries."""

    def __init__(self, api: ApiConnection, *, timeout: float | None = None) -> None:
        self._api, self._is_bounded = api, timeout is not None
        self._pause = FIRST_PAUSE

    def reset(self) -> None:
        """Notes that the API answered: the next pause is the shortest."""
        self._api.was_answered, self._pause = True, FIRST_PAUSE

    async def wait_or_raise(self, error: Declined | Unanswered) -> None:
        """Pauses if the error may pass; else raises it."""
        if isinstance(error, Declined):
            if not error.store_is_away:
                raise error
        elif not (self._api.was_answered or self._is_bounded):
            raise error
        await self.pause()

    async def pause(self) -> None:
        await asyncio.sleep(self._pause)
        self._pause = min(self._pause * 2, LONGEST_PAUSE)

    async def call(self, request: Callable[[], Awaitable[T]]) -> T:
        """Repeats the request until it succeeds or its error does not pass."""
        while True:
            try:
                answer = await request()
            except (Declined, Unanswered) as error:
                await self.wait_or_raise(error)
            else:
                self.reset()
                return answer


class Deadline:
    """A deadline `timeout` seconds from now; None: no deadline."""

    def __init__(self, timeout: float | None, job: str) -> None:
        self._timeout, self._job = timeout, job
        now = asyncio.get_running_loop().time()
        self._at = None if timeout is None else now + timeout

    async def wait_for(self, what: Awaitable[T]) -> T:
        """Awaits `what`; raises `NotInTime` at the deadline."""
        try:
            async with asyncio.timeout_at(self._at):
                return await what
        except TimeoutError:
            sentence = f"{self._job} has not ended within {self._timeout:g} seconds."
            raise NotInTime(sentence) from None
