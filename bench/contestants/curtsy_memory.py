"""A worker's resident memory while it works off a job that another process submitted."""

import asyncio
import os
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import uvloop

from bench.children import contestant
from bench.contestants.curtsy_pages import settings
from bench.setting_up import opened
from bench.spent import descendants
from curtsy.store import Statement, Store
from curtsy.worker import Worker

LOOK_EVERY_SECONDS = 0.05
_DONE = Statement("SELECT sum(done) FROM jobs")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def resident_megabytes() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * _PAGE_BYTES / 2**20


def megabytes_of_children() -> float:
    """Their memory, what they share divided among them."""
    return sum(map(_share_of, descendants(os.getpid()))) / 1024


def _share_of(number: int) -> int:
    try:
        rollup = Path(f"/proc/{number}/smaps_rollup").read_text()
    except OSError:
        return 0  # it has just ended, or is not ours to read
    return int(rollup.split("Pss:")[1].split()[0])


async def run(database: str, marks: list[int], samples: int = 5) -> dict[str, Any]:
    """At each mark, the median of so many samples nearest to it."""
    async with opened(database) as (store, clock):
        worker = Worker(store=store, clock=clock, settings=settings(concurrency=8, slots=100))
        running = asyncio.create_task(worker.run())
        seen = await _watch(store, until=marks[-1])
        await worker.stop()
        await running
    near = [sorted(seen, key=lambda s: abs(s.done - mark))[:samples] for mark in marks]
    return {
        "resident": [median(sample.resident for sample in some) for some in near],
        "children": [median(sample.children for sample in some) for some in near],
    }


class Sample(NamedTuple):
    done: int
    resident: float
    children: float


async def _watch(store: Store, until: int) -> list[Sample]:
    seen: list[Sample] = []
    while not seen or seen[-1].done < until:
        done = await store.read(lambda c: int(_DONE(c).scalar_one()))
        seen.append(Sample(done, resident_megabytes(), megabytes_of_children()))
        await asyncio.sleep(LOOK_EVERY_SECONDS)
    return seen


def measure(**options: Any) -> dict[str, Any]:
    return uvloop.run(run(**options))


if __name__ == "__main__":
    contestant(measure)
