"""Our worker with its pool of scrapers. Its child processes have started when the job comes."""

import asyncio
import os
from typing import Any

import uvloop

from bench.children import contestant
from bench.contestants.curtsy_pages import finished, settings
from bench.setting_up import LOOPBACK, opened
from bench.spent import Spent, processor_time
from curtsy.jobs import JobRequest, PageRequest, SubmitLimits, Submitter
from curtsy.worker import Worker

WARM_UP = 20


def _request(urls: list[str]) -> JobRequest:
    return JobRequest("bench", [PageRequest(url) for url in urls], scraper="article")


async def run(database: str, urls: list[str], **options: Any) -> dict[str, Any]:
    """From the submit to the end of the job in the store."""
    async with opened(database) as (store, clock):
        worker = Worker(store=store, clock=clock, settings=settings(**options))
        door = Submitter(store=store, clock=clock, limits=SubmitLimits(allow=LOOPBACK), delay_ms=0,
                         on_submitted=worker.wake)  # fmt: skip
        running = asyncio.create_task(worker.run())
        first = [f"{url}?warm-up=1/{n}" for n, url in enumerate(urls[:WARM_UP])]
        await finished(store, (await door.submit(_request(first))).job)
        before, spent = processor_time(os.getpid()), Spent()
        done = await finished(store, (await door.submit(_request(urls))).job)
        measured = spent.until_now() | {"cpu": processor_time(os.getpid()) - before}
        await worker.stop()
        await running
    return {"pages": done, **measured}


def measure(**options: Any) -> dict[str, Any]:
    return uvloop.run(run(**options))


if __name__ == "__main__":
    contestant(measure)
