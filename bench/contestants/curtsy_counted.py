"""How long our history of many sources takes to read."""

import random
import time
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any

import uvloop

from bench.children import contestant
from bench.history_rows import age, at_hour, count, facts, name_sources
from bench.setting_up import opened
from curtsy.api.stats import read_stats
from curtsy.clock import HOUR
from curtsy.history.reader import by_source, series, totals
from curtsy.politeness.policy import Policy
from curtsy.store import Connection, Statement, Store

TIMES = 15
READS: dict[str, Callable[..., Any]] = {
    "totals": totals,
    "20 sources": partial(by_source, most=20),
    "20 failing sources": partial(by_source, most=20, by="failures"),
    "series of 144 points": partial(series, points=144),
}


async def run(database: str, hours: int, sources: int) -> dict[str, Any]:
    rng = random.Random(1)
    async with opened(database) as (store, clock):
        now = clock.now()
        await store.write(lambda c: name_sources(c, sources))
        of_an_hour = facts(rng, sources=sources, pages=2 * sources)
        for hour in range(now // HOUR - hours, now // HOUR):
            await count(store, at_hour(of_an_hour, hour), now=now)
        await age(store, now=now)
        await store.write(lambda c: Statement("ANALYZE")(c) and None)
        period = {"since": now - hours * HOUR, "until": now}
        took = {name: await _median(store, partial(read, **period)) for name, read in READS.items()}
        whole = partial(read_stats, defaults=Policy(), hours=hours, points=60, most=20, now=now)
        return {"ms": took | {"all of GET /stats": await _median(store, whole)}}


async def _median(store: Store, read: Callable[[Connection], Any]) -> float:
    took = []
    for _ in range(TIMES):
        began = time.perf_counter()
        await store.read(read, large=True)
        took.append(1000 * (time.perf_counter() - began))
    return median(took)


def measure(**options: Any) -> dict[str, Any]:
    return uvloop.run(run(**options))


if __name__ == "__main__":
    contestant(measure)
