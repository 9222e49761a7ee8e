"""Sends in a job of given URLs, so that its memory is not the worker's."""

from typing import Any

import uvloop

from bench.children import contestant
from bench.setting_up import opened, submit


async def run(database: str, urls: list[str]) -> dict[str, Any]:
    async with opened(database) as (store, clock):
        jobs = await submit(store, clock, urls)
    return {"jobs": jobs}


def measure(**options: Any) -> dict[str, Any]:
    return uvloop.run(run(**options))


if __name__ == "__main__":
    contestant(measure)
