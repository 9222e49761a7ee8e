"""One reader of events for a whole process, and as many followers as like to listen.

It reads only what somebody follows, once for all of them. Hints that something was committed make
it look at once; without them it looks a few times a second.
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
"""Where an event stands: its number in its job, or its place among all."""

LOOK_EVERY_SECONDS = 0.25
LEAST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.02, 0.1
PAUSE_SECONDS_FOR_EACH = 0.001
"""That was told to a follower: the more there is to tell, the more is told at once."""
AT_ONCE = 500
JOBS_AT_ONCE = 1_000


class Followed(NamedTuple):
    """A job as it was when somebody began to follow it."""

    id: int
    name: str
    """By which it is known outside: no other job ever has it."""
    n: int
    """The number of its last event."""


class _Topic:
    """A followed job: the last event that the feed has read of it, and who listens."""

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
        self._told = 0

    @property
    def followers(self) -> int:
        return len(self._listeners) + sum(len(t.followers) for t in self._topics.values())

    async def of_job(self, job: Followed, *, after: int) -> AsyncGenerator[StoredEvent]:
        """Every event behind `after`, once and in order, for ever. Raises `JobGone`."""

        async def read_on(n: int) -> list[StoredEvent]:
            return await self._store.read(lambda c: read_job_after(c, job.id, n, most=AT_ONCE))

        with self._follow(job) as following:
            async with aclosing(_all_of(following, after, read_on, lambda f: f.n)) as facts:
                async for fact in facts:
                    if fact.job != job.name:
                        raise JobGone  # whatever has its number now is none of our business
                    yield fact

    async def of_all(self, *, after: Place, end: Place) -> AsyncGenerator[StoredEvent]:
        """The same over all jobs; `end` was theirs when the caller last looked."""
        with self._listen(end) as following:
            async with aclosing(_all_of(following, after, self._all_after, _place)) as facts:
                async for fact in facts:
                    yield fact

    async def _all_after(self, place: Place) -> list[StoredEvent]:
        return await self._store.read(lambda c: read_all_after(c, place, most=AT_ONCE))

    async def step(self) -> float:
        """A duty: look once, and say when to look again."""
        self._told = 0
        more = await self._look_at_jobs()
        more = await self._look_at_all() or more
        if more:
            return 0.0
        pause = max(LEAST_PAUSE_SECONDS, self._told * PAUSE_SECONDS_FOR_EACH)
        await asyncio.sleep(min(LONGEST_PAUSE_SECONDS, pause))  # many commits are one look
        return LOOK_EVERY_SECONDS if self._topics or self._listeners else 3600.0

    async def _look_at_jobs(self) -> bool:
        """Whether there may be more than was read."""
        more = False
        for known in _chunks([(job_id, topic.n) for job_id, topic in self._topics.items()]):
            facts, gone = await self._store.read(lambda c: read_news(c, known, most=AT_ONCE))  # noqa: B023
            for job_id in gone:
                self._end(job_id)
            for fact in facts:
                topic = self._topics.get(fact.job_id)
                if topic is not None and fact.n == topic.n + 1:
                    topic.n = fact.n
                    self._tell(fact, topic.followers)
            more = more or len(facts) >= AT_ONCE
        return more

    async def _look_at_all(self) -> bool:
        if not self._listeners:
            self._place = None
            return False
        place = self._place
        assert place is not None, "the first listener says where to begin"
        facts = await self._all_after(place)
        for fact in facts:
            self._tell(fact, self._listeners)
        if facts:
            self._place = facts[-1].place
        return len(facts) >= AT_ONCE

    def _tell(self, fact: StoredEvent, followers: Collection[Subscription]) -> None:
        for following in followers:
            following.put(fact)
        self._told += len(followers)

    def _end(self, job_id: int) -> None:
        topic = self._topics.pop(job_id, None)
        for following in topic.followers if topic is not None else ():
            following.end()

    @contextmanager
    def _follow(self, job: Followed) -> Iterator[Subscription]:
        following = Subscription()
        topic = self._topics.setdefault(job.id, _Topic(job.n))
        topic.followers.add(following)
        self.wake()
        try:
            yield following
        finally:
            topic.followers.discard(following)
            if not topic.followers and self._topics.get(job.id) is topic:
                del self._topics[job.id]

    @contextmanager
    def _listen(self, end: Place) -> Iterator[Subscription]:
        """All that comes behind `end`; what is told twice by that is left out by who reads it."""
        following = Subscription()
        self._place = self._place or end
        self._listeners.add(following)
        self.wake()
        try:
            yield following
        finally:
            self._listeners.discard(following)


async def _all_of(
    following: Subscription,
    last: At,
    read_on: Callable[[At], Awaitable[list[StoredEvent]]],
    at: Callable[[StoredEvent], At],
) -> AsyncGenerator[StoredEvent]:
    """From the store until there is no more, then as they come; again so after falling behind.

    A reading that is not full has reached what is kept for us since we began; to go on reading
    until there is none would be, of a busy job, to read all of it apart from the others.
    """
    while True:
        following.begin()
        is_full = True
        while is_full:
            facts = await read_on(last)
            for fact in facts:
                yield fact
            last = at(facts[-1]) if facts else last
            is_full = len(facts) >= AT_ONCE
        while (live := await following.next()) is not None:
            if at(live) > last:
                last = at(live)
                yield live


def _place(fact: StoredEvent) -> Place:
    return fact.place


def _chunks(known: list[tuple[int, int]]) -> Iterator[list[tuple[int, int]]]:
    rest = iter(known)
    while chunk := list(islice(rest, JOBS_AT_ONCE)):
        yield chunk
