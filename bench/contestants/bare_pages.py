"""The least a fetching program can do: aiohttp in a loop, one JSONL line for each page."""

import asyncio
from typing import Any

import aiohttp
import orjson
import uvloop

from bench.children import contestant
from bench.spent import Spent


async def fetch_all(urls: list[str], path: str, concurrency: int) -> dict[str, float]:
    waiting = iter(urls)
    connector = aiohttp.TCPConnector(limit=0)
    cookies = aiohttp.DummyCookieJar()
    async with aiohttp.ClientSession(connector=connector, cookie_jar=cookies) as session:
        spent = Spent()
        with open(path, "wb") as out:  # noqa: ASYNC230, PTH123 - a bare loop does just this

            async def one_after_another() -> None:
                for url in waiting:
                    async with session.get(url) as response:
                        body = await response.read()
                    page = {"url": url, "status": response.status, "body": body.decode()}
                    out.write(orjson.dumps(page) + b"\n")

            async with asyncio.TaskGroup() as tasks:
                for _ in range(concurrency):
                    tasks.create_task(one_after_another())
        return spent.until_now()


def measure(urls: list[str], path: str, concurrency: int) -> dict[str, Any]:
    spent = uvloop.run(fetch_all(urls, path, concurrency))
    with open(path, "rb") as written:  # noqa: PTH123
        pages = sum(1 for _ in written)
    return {"pages": pages, **spent}


if __name__ == "__main__":
    contestant(measure)
