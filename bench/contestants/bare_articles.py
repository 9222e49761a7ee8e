"""The least a program for articles can do on two cores: aiohttp fetches, two processes run
trafilatura, and one line of JSONL is written for each article."""

import asyncio
import os
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import aiohttp
import trafilatura
import uvloop

from bench.children import contestant
from bench.spent import Spent, processor_time

PROCESSES = 2
AT_ONCE = 16
"""Fetched pages at a time: more than the processes can take."""
WARM_UP = (
    "<html><body><article><p>" + "Words of a first page. " * 50 + "</p></article></body></html>"
)


def extract(page: str, url: str) -> str | None:
    return trafilatura.extract(page, url=url, output_format="json", with_metadata=True)


async def fetch_all(urls: list[str], path: str) -> dict[str, Any]:
    waiting, written, seen = iter(urls), 0, 0
    loop = asyncio.get_running_loop()
    with ProcessPoolExecutor(PROCESSES) as pool, open(path, "w") as out:  # noqa: ASYNC230, PTH123
        await asyncio.gather(*(
            loop.run_in_executor(pool, extract, WARM_UP, urls[0]) for _ in range(10 * PROCESSES)
        ))  # fmt: skip
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

            async def one_after_another() -> None:
                nonlocal written, seen
                for url in waiting:
                    async with session.get(url) as response:
                        page = await response.text()
                    found = await loop.run_in_executor(pool, extract, page, url)
                    seen += 1
                    if found is not None:
                        out.write(f"{found}\n")
                        written += 1

            before, spent = processor_time(os.getpid()), Spent()
            async with asyncio.TaskGroup() as tasks:
                for _ in range(AT_ONCE):
                    tasks.create_task(one_after_another())
            measured = spent.until_now() | {"cpu": processor_time(os.getpid()) - before}
    return {"seen": seen, "pages": written, **measured}


def measure(urls: list[str], path: str) -> dict[str, Any]:
    return uvloop.run(fetch_all(urls, path))


if __name__ == "__main__":
    contestant(measure)
