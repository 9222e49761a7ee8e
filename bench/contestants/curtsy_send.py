"""Submits given URLs, so that the memory for that is not the worker's."""

from typing import Any

import uvloop

from bench.children import contestant
from bench.contestants.curtsy_load import settle
from bench.setting_up import opened, submit


async def run(
    database: str, urls: list[str], scraper: str = "raw", settled: bool = False
) -> dict[str, Any]:
    """`settled`: with the maintenance that a database in use has had."""
    async with opened(database) as (store, clock):
        jobs = await submit(store, clock, urls, scraper)
        if settled:
            await store.read(settle)
    return {"jobs": jobs}


def measure(**options: Any) -> dict[str, Any]:
    return uvloop.run(run(**options))


if __name__ == "__main__":
    contestant(measure)
