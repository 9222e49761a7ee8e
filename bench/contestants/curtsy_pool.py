"""The same pages through our pool, with as many processes as there are cores."""

import asyncio
import os
import time
from typing import Any

import uvloop

from bench.articles_pages import pages
from bench.children import contestant
from bench.spent import Spent, processor_time
from curtsy.extract import ExtractLimits, Pool
from curtsy.model.outcome import Record, Reply

AT_ONCE = 16
"""Fetched pages that wait for a reader, as in a busy worker."""


async def run(number: int) -> dict[str, Any]:
    replies = [Reply(200, url, {"content-type": "text/html"}, body, len(body))
               for url, body in pages(number)]  # fmt: skip
    async with Pool(ExtractLimits(pages_per_process=number)) as pool:
        await asyncio.gather(*(pool.extract("article", replies[0]) for _ in range(AT_ONCE)))
        waiting, found = iter(replies), 0

        async def one_after_another() -> None:
            nonlocal found
            for reply in waiting:
                outcome = await pool.extract("article", reply)
                found += isinstance(outcome, Record)

        before = _processor_time_of_children()
        spent = Spent()
        async with asyncio.TaskGroup() as tasks:
            for _ in range(AT_ONCE):
                tasks.create_task(one_after_another())
        measured = spent.until_now()
        measured["cpu"] += _processor_time_of_children() - before
        return {"pages": found, **measured, "overhead": await _overhead(pool)}


def _processor_time_of_children() -> float:
    return processor_time(os.getpid(), with_root=False)


async def _overhead(pool: Pool) -> float:
    """Seconds per trivial page, one at a time."""
    nothing = Reply(200, "http://a.example/", {"content-type": "image/png"}, b"x" * 20_000, 20_000)
    began = time.perf_counter()
    for _ in range(500):
        await pool.extract("article", nothing)
    return (time.perf_counter() - began) / 500


def measure(**options: Any) -> dict[str, Any]:
    return uvloop.run(run(**options))


if __name__ == "__main__":
    contestant(measure)
