"""A worker that is woken through the database; it ends when its stdin is closed."""

import asyncio
import sys
from typing import Any

import uvloop

from bench.children import contestant
from bench.contestants.curtsy_latency import working
from bench.setting_up import opened
from curtsy.store.wakeups import Wakeups


async def run(database: str) -> dict[str, Any]:
    async with opened(database) as (store, clock):
        worker = working(store, clock)
        async with Wakeups(database, worker.wake):
            running = asyncio.create_task(worker.run())
            await asyncio.to_thread(sys.stdin.buffer.read)
            await worker.stop()
            await running
    return {}


def measure(**options: Any) -> dict[str, Any]:
    return uvloop.run(run(**options))


if __name__ == "__main__":
    contestant(measure)
