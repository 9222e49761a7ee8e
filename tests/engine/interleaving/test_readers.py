"""Readers of events miss none: of one job by number, of all jobs behind the snapshot."""

import asyncio

import pytest

from curtsy.events import stored_events as events
from curtsy.frontier import flush
from support import removed
from support.frontier import Bench, fetched
from support.holding import hold

Patch = pytest.MonkeyPatch


class Readers:
    """One follows each job by n; one follows all of them by place."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self.by_number: dict[int, list[int]] = {}
        self.of_all: list[tuple[int, int]] = []
        self._place = events.Place(0, 0)

    async def read(self) -> None:
        store = self._bench.store
        for job in await self._bench.rows("SELECT id FROM jobs"):
            seen = self.by_number.setdefault(job.id, [])
            seen += [
                fact.n
                for fact in await store.read(
                    lambda c: events.read_job_after(c, job.id, len(seen), most=100)  # noqa: B023
                )
            ]
        facts = await store.read(lambda c: events.read_all_after(c, self._place, most=100))
        self.of_all += [(fact.job_id, fact.n) for fact in facts]
        if facts:
            self._place = facts[-1].place


async def late_commit(bench: Bench, monkeypatch: Patch) -> Readers:
    """The first flush drew its sequence numbers and commits after the second."""
    await bench.submit("https://a.example/")
    await bench.submit("https://b.example/")
    slow, quick = await bench.worker("slow"), await bench.worker("quick")
    readers = Readers(bench)
    await readers.read()
    for worker in (slow, quick):
        await worker.lease(1)
    held = hold(monkeypatch, flush, "release")
    [visit] = await slow.take()
    flushing = asyncio.create_task(slow.flush(fetched(visit)))
    await held.reached()
    await quick.flush(*[fetched(v) for v in await quick.take()])
    await readers.read()
    held.let_go()
    await flushing
    await readers.read()
    return readers


async def test_readers_see_what_is_committed_late(bench: Bench, monkeypatch: Patch) -> None:
    readers = await late_commit(bench, monkeypatch)
    assert list(readers.by_number.values()) == [[1, 2, 3, 4], [1, 2, 3, 4]]
    every = [(row.job_id, row.n) for row in await bench.rows("SELECT job_id, n FROM events")]
    assert sorted(readers.of_all) == sorted(every)


async def test_a_reader_by_sequence_alone_misses_some(bench: Bench, monkeypatch: Patch) -> None:
    removed.settled(monkeypatch)
    readers = await late_commit(bench, monkeypatch)
    assert list(readers.by_number.values()) == [[1, 2, 3, 4], [1, 2, 3, 4]]
    assert len(readers.of_all) < 8
