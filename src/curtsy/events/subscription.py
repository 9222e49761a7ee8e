"""One follower's share of the feed: a bounded row of facts that wait for it."""

import asyncio
from collections import deque

from curtsy.errors import CurtsyError
from curtsy.events.stored_events import StoredEvent

MOST_WAITING = 1_000


class JobGone(CurtsyError):
    """The job that is followed was purged: there is nothing more to wait for."""

    code = "job_gone"


class Subscription:
    """What the feed puts in, one reader takes out. One that falls behind loses what waits for it
    and is told so: it reads on from the store, at its own pace."""

    def __init__(self) -> None:
        self._facts: deque[StoredEvent] = deque()
        self._news = asyncio.Event()
        self._fell_behind = False
        self._is_over = False

    def put(self, fact: StoredEvent) -> None:
        if len(self._facts) >= MOST_WAITING:
            self._fell_behind = True
            self._facts.clear()
        if not self._fell_behind:
            self._facts.append(fact)
        self._news.set()

    def end(self) -> None:
        """Nothing comes any more."""
        self._is_over = True
        self._news.set()

    def begin(self) -> None:
        """From now on everything is kept; what came before is read from the store."""
        self._facts.clear()
        self._fell_behind = False

    async def next(self) -> StoredEvent | None:
        """The next in order; None: the reader fell behind. Raises `JobGone`."""
        while not self._facts:
            if self._fell_behind:
                return None
            if self._is_over:
                raise JobGone
            self._news.clear()
            await self._news.wait()
        return self._facts.popleft()
