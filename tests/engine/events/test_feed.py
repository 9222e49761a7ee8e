"""How a follower comes from the store to what is told live."""

from contextlib import aclosing

import pytest

from curtsy.events import feed
from curtsy.events.feed import Feed, Followed
from curtsy.events.stored_events import Place, StoredEvent
from curtsy.store import Connection, Store

JOB = 1


def fact(n: int) -> StoredEvent:
    return StoredEvent(JOB, "job_1", "fetch", None, n, 0, "page_fetched", None, {}, Place(1, n))


class Busy:
    """A job that has news whenever somebody looks."""

    def __init__(self, has: int) -> None:
        self.n, self.readings = has, 0

    def read(
        self, _connection: Connection, _job: int, after: int, *, most: int
    ) -> list[StoredEvent]:
        self.readings += 1
        self.n += 1
        return [fact(n) for n in range(after + 1, min(self.n, after + most) + 1)]


@pytest.mark.parametrize(("has", "readings"), [(0, 1), (499, 2), (1_200, 3)])
async def test_a_follower_of_a_busy_job_reads_what_was_and_then_listens(
    store: Store, monkeypatch: pytest.MonkeyPatch, has: int, readings: int
) -> None:
    busy = Busy(has)
    monkeypatch.setattr(feed, "read_job_after", busy.read)
    live = Feed(store)
    async with aclosing(live.of_job(Followed(JOB, "job_1", has), after=0)) as facts:
        heard = [(await anext(facts)).n]
        while heard[-1] < busy.n:
            heard.append((await anext(facts)).n)
        last = busy.n + 3
        for n in range(has, last + 1):  # as the feed tells it, from where it was
            live._deliver(fact(n), live._topics[JOB].followers)
        while heard[-1] < last:
            heard.append((await anext(facts)).n)
    assert heard == list(range(1, last + 1))
    assert busy.readings == readings
