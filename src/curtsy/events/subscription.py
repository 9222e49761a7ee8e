"""The subscription of one follower: a bounded queue of events."""

import asyncio
from collections import deque

from curtsy.errors import CurtsyError
from curtsy.events.stored_events import StoredEvent

MOST_WAITING = 1_000


class JobGone(CurtsyError):
    """The followed job was purged: no more events will come."""

    code = "job_gone"


class Subscription:
    """The feed puts events in, and one reader takes them out. When the reader falls behind, the
    queue is dropped and `next` returns None: the reader continues from the store at its own pace.
    """

    def __init__(self) -> None:
        self._events: deque[StoredEvent] = deque()
        self._news = asyncio.Event()
        self._fell_behind = False
        self._is_over = False

    def put(self, event: StoredEvent) -> None:
        if len(self._events) >= MOST_WAITING:
            self._fell_behind = True
            self._events.clear()
        if not self._fell_behind:
            self._events.append(event)
        self._news.set()

    def end(self) -> None:
        """No more events will come."""
        self._is_over = True
        self._news.set()

    def begin(self) -> None:
        """Queues all events from now on; earlier ones are read from the store."""
        self._events.clear()
        self._fell_behind = False

    async def next(self) -> StoredEvent | None:
        """Returns the next event in order; None: the reader fell behind. Raises `JobGone`."""
        while not self._events:
            if self._fell_behind:
                return None
            if self._is_over:
                raise JobGone
            self._news.clear()
            await self._news.wait()
        return self._events.popleft()
