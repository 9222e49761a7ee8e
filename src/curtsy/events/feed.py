"""Reads events once per process and passes them to any number of followers.

The feed reads only the jobs that are followed, once for all their followers. A wake-up after a
commit makes the feed read at once; without wake-ups it polls a few times a second.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Iterator
from contextlib import aclosing, contextmanager
from itertools import islice
from typing import NamedTuple, TypeVar

from curtsy.events.stored_events import (
    Place,
    StoredEvent,
    read_all_after,
    read_job_after,
    read_news,
)
from curtsy.events.subscription import JobGone, Subscription
from curtsy.periodic import Wake
from curtsy.store import Store

At = TypeVar("At", int, Place)
"""The position of an event: its number in its job, or its place among all events."""

POLL_EVERY_SECONDS = 0.25
LEAST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.02, 0.1
PAUSE_SECONDS_PER_DELIVERY = 0.001
"""For each event passed to a follower: under load the feed reads larger batches."""
AT_ONCE = 500
JOBS_AT_ONCE = 1_000


class Followed(NamedTuple):
    """A job as it was when a follower subscribed."""

    id: int
    name: str
    """The public id, which no other job ever has."""
    n: int
    """The number of its last event."""


class _Topic:
    """A followed job: the number of the last event that the feed read, and the followers."""

    def __init__(self, n: int) -> None:
        self.n = n
        self.followers: set[Subscription] = set()


class Feed:
    def __init__(self, store: Store) -> None:
        self._store = store
        self.wake = Wake()
        self._topics: dict[int, _Topic] = {}
        self._listeners: set[Subscription] = set()
        self._place: Place | None = None
        self._deliveries = 0

    @property
    def followers(self) -> int:
        return len(self._listeners) + sum(len(t.followers) for t in self._topics.values())

    async def of_job(self, job: Followed, *, after: int) -> AsyncGenerator[StoredEvent]:
        """Yields every event after number `after`, once and in order, without end. Raises
        `JobGone`."""

        async def read_after(n: int) -> list[StoredEvent]:
            return await self._store.read(lambda c: read_job_after(c, job.id, n, most=AT_ONCE))

        with self._follow(job) as subscription:
            found = _stored_then_live(subscription, after, read_after, lambda event: event.n)
            async with aclosing(found) as events:
                async for event in events:
                    if event.job != job.name:
                        raise JobGone  # another job has its row id now
                    yield event

    async def of_all(self, *, after: Place, end: Place) -> AsyncGenerator[StoredEvent]:
        """Yields the events of all jobs after `after`; `end` is the end of all events as the caller
        last read it."""
        with self._listen(end) as subscription:
            found = _stored_then_live(subscription, after, self._read_all_after, _place)
            async with aclosing(found) as events:
                async for event in events:
                    yield event

    async def _read_all_after(self, place: Place) -> list[StoredEvent]:
        return await self._store.read(lambda c: read_all_after(c, place, most=AT_ONCE))

    async def step(self) -> float:
        """Reads new events once; returns the seconds until the next read."""
        self._deliveries = 0
        more = await self._read_jobs()
        more = await self._read_all() or more
        if more:
            return 0.0
        pause = max(LEAST_PAUSE_SECONDS, self._deliveries * PAUSE_SECONDS_PER_DELIVERY)
        await asyncio.sleep(min(LONGEST_PAUSE_SECONDS, pause))  # one read for many commits
        return POLL_EVERY_SECONDS if self._topics or self._listeners else 3600.0

    async def _read_jobs(self) -> bool:
        """Returns whether there may be more events than were read."""
        more = False
        for known in _chunks([(job_id, topic.n) for job_id, topic in self._topics.items()]):
            events, gone = await self._store.read(lambda c: read_news(c, known, most=AT_ONCE))  # noqa: B023
            for job_id in gone:
                self._end(job_id)
            for event in events:
                topic = self._topics.get(event.job_id)
                if topic is not None and event.n == topic.n + 1:
                    topic.n = event.n
                    self._deliver(event, topic.followers)
            more = more or len(events) >= AT_ONCE
        return more

    async def _read_all(self) -> bool:
        if not self._listeners:
            self._place = None
            return False
        place = self._place
        assert place is not None, "the first listener sets the place"
        events = await self._read_all_after(place)
        for event in events:
            self._deliver(event, self._listeners)
        if events:
            self._place = events[-1].place
        return len(events) >= AT_ONCE

    def _deliver(self, event: StoredEvent, followers: Collection[Subscription]) -> None:
        for subscription in followers:
            subscription.put(event)
        self._deliveries += len(followers)

    def _end(self, job_id: int) -> None:
        topic = self._topics.pop(job_id, None)
        for subscription in topic.followers if topic is not None else ():
            subscription.end()

    @contextmanager
    def _follow(self, job: Followed) -> Iterator[Subscription]:
        subscription = Subscription()
        topic = self._topics.setdefault(job.id, _Topic(job.n))
        topic.followers.add(subscription)
        self.wake()
        try:
            yield subscription
        finally:
            topic.followers.discard(subscription)
            if not topic.followers and self._topics.get(job.id) is topic:
                del self._topics[job.id]

    @contextmanager
    def _listen(self, end: Place) -> Iterator[Subscription]:
        """Subscribes to all events after `end`; the reader skips those that it gets twice."""
        subscription = Subscription()
        self._place = self._place or end
        self._listeners.add(subscription)
        self.wake()
        try:
            yield subscription
        finally:
            self._listeners.discard(subscription)


async def _stored_then_live(
    subscription: Subscription,
    last: At,
    read_after: Callable[[At], Awaitable[list[StoredEvent]]],
    at: Callable[[StoredEvent], At],
) -> AsyncGenerator[StoredEvent]:
    """Reads stored events up to the newest, then yields live ones; starts over after falling
    behind.

    A batch that is not full has reached the events that the subscription holds since `begin`. To
    read until a batch is empty would read a whole busy job apart from the other followers.
    """
    while True:
        subscription.begin()
        is_full = True
        while is_full:
            events = await read_after(last)
            for event in events:
                yield event
            last = at(events[-1]) if events else last
            is_full = len(events) >= AT_ONCE
        while (live := await subscription.next()) is not None:
            if at(live) > last:
                last = at(live)
                yield live


def _place(event: StoredEvent) -> Place:
    return event.place


def _chunks(known: list[tuple[int, int]]) -> Iterator[list[tuple[int, int]]]:
    rest = iter(known)
    while chunk := list(islice(rest, JOBS_AT_ONCE)):
        yield chunk
