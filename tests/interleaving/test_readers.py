"""Events are read by their number within the job: no other cursor sees them all."""

import asyncio

import pytest

from curtsy.frontier import flush
from interleaving.holding import hold
from support.frontier import Bench, fetched

Patch = pytest.MonkeyPatch


class Readers:
    """One follows each job by n, as all readers do; one follows all of them by sequence."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self.by_number: dict[int, list[int]] = {}
        self.by_sequence: list[int] = []

    async def read(self) -> None:
        for job in await self._bench.rows("SELECT id FROM jobs"):
            seen = self.by_number.setdefault(job.id, [])
            rows = await self._bench.rows(
                "SELECT n FROM events WHERE job_id = :job AND n > :after ORDER BY n",
                job=job.id, after=len(seen),
            )  # fmt: skip
            seen += [row.n for row in rows]
        last = self.by_sequence[-1] if self.by_sequence else 0
        rows = await self._bench.rows(
            "SELECT seq FROM events WHERE seq > :last ORDER BY seq", last=last
        )
        self.by_sequence += [row.seq for row in rows]


async def test_a_reader_by_number_sees_all_events_where_a_reader_by_sequence_misses_some(
    bench: Bench, monkeypatch: Patch
) -> None:
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
    assert list(readers.by_number.values()) == [[1, 2, 3, 4], [1, 2, 3, 4]]
    every = [row.seq for row in await bench.rows("SELECT seq FROM events")]
    assert set(every) - set(readers.by_sequence), "the sequence cursor must have missed some"
