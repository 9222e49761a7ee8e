"""Our frontier, drained: lease, take and flush, as `bench.draining` describes."""

import asyncio
import time
from typing import Any

import uvloop

from bench.children import contestant
from bench.draining import EVERYTHING, Drainer, Quota
from bench.setting_up import opened


async def run(
    database: str, visits: int | None, per_lease: int, drainers: int, warm_up: int = 0
) -> dict[str, Any]:
    """Drains this many visits; None: all."""
    async with opened(database) as (store, clock):
        quota = Quota(0)
        context = [
            Drainer(store=store, clock=clock, quota=quota, per_lease=per_lease)
            for _ in range(drainers)
        ]
        for drainer in context:
            await drainer.register()
        await _drained(context, quota, warm_up)
        began = time.perf_counter()
        drained = await _drained(context, quota, visits)
        seconds = time.perf_counter() - began
        for drainer in context:
            await drainer.leave()
        return {"visits": drained, "seconds": seconds}


async def _drained(context: list[Drainer], quota: Quota, visits: int | None) -> int:
    quota.left = EVERYTHING if visits is None else visits
    return sum(await asyncio.gather(*(drainer.run() for drainer in context)))


def measure(**options: Any) -> dict[str, Any]:
    return uvloop.run(run(**options))


if __name__ == "__main__":
    contestant(measure)
