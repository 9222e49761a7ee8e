"""A worker's resident memory while it works off a job that another process submitted."""

import asyncio
import os
from pathlib import Path
from statistics import median
from typing import Any

import uvloop

from bench.children import contestant
from bench.contestants.curtsy_pages import settings
from bench.setting_up import opened
from curtsy.store import Statement, Store
from curtsy.worker import Worker

LOOK_EVERY_SECONDS = 0.05
SAMPLES_PER_MARK = 5
_DONE = Statement("SELECT sum(done) FROM jobs")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def resident_megabytes() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * _PAGE_BYTES / 2**20


async def run(database: str, marks: list[int]) -> dict[str, Any]:
    """At each mark, the median of the samples nearest to it."""
    async with opened(database) as (store, clock):
        worker = Worker(store=store, clock=clock, settings=settings(concurrency=8, slots=100))
        running = asyncio.create_task(worker.run())
        seen = await _watch(store, until=marks[-1])
        await worker.stop()
        await running
    return {"marks": marks, "resident": [_at(mark, seen) for mark in marks]}


def _at(mark: int, seen: list[tuple[int, float]]) -> float:
    nearest = sorted(seen, key=lambda sample: abs(sample[0] - mark))[:SAMPLES_PER_MARK]
    return median(megabytes for _done, megabytes in nearest)


async def _watch(store: Store, until: int) -> list[tuple[int, float]]:
    seen: list[tuple[int, float]] = []
    while not seen or seen[-1][0] < until:
        done = await store.read(lambda c: int(_DONE(c).scalar_one()))
        seen.append((done, resident_megabytes()))
        await asyncio.sleep(LOOK_EVERY_SECONDS)
    return seen


def measure(**options: Any) -> dict[str, Any]:
    return uvloop.run(run(**options))


if __name__ == "__main__":
    contestant(measure)
