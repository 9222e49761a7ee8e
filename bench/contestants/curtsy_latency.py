"""How long from a submit to the request's arrival at the site, on an idle system.

One URL at a time, each of a host that was never asked; between two of them the system comes to
rest. The instants of submitting go out on stdout; the arrivals are in the site's own log. With
`worker` false somebody else's worker does the fetching and is woken through the database.
"""

import asyncio
import random
import time
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Any

import aiohttp
import uvloop

from bench.children import contestant
from bench.setting_up import LOOPBACK, opened
from curtsy.clock import Clock
from curtsy.jobs import JobRequest, PageRequest, SubmitLimits, Submitter
from curtsy.politeness.policy import Policy
from curtsy.store import Store
from curtsy.store.wakeups import Wakeups
from curtsy.worker import Worker, WorkerSettings

WARM_UP_SECONDS = 2.5


def working(store: Store, clock: Clock) -> Worker:
    return Worker(
        store=store,
        clock=clock,
        settings=WorkerSettings(allow=LOOPBACK, policy=Policy(robots=False)),
    )


async def run(database: str, urls: list[str], bare_urls: list[str], worker: bool) -> dict[str, Any]:
    async with opened(database) as (store, clock), AsyncExitStack() as stack:
        if worker:
            ours = working(store, clock)
            wake: Callable[[], None] = ours.wake
            running = asyncio.create_task(ours.run())
        else:
            wake = (await stack.enter_async_context(Wakeups(database, lambda: None))).send
        door = Submitter(
            store=store,
            clock=clock,
            limits=SubmitLimits(allow=LOOPBACK),
            delay_ms=1_000,
            on_submitted=wake,
        )
        await asyncio.sleep(WARM_UP_SECONDS)
        submitted, bare = await _samples(door, urls, bare_urls)
        if worker:
            await ours.stop()
            await running
    return {"submitted": submitted, "bare": bare}


async def _samples(
    door: Submitter, urls: list[str], bare_urls: list[str]
) -> tuple[dict[str, int], list[float]]:
    submitted: dict[str, int] = {}
    bare: list[float] = []
    async with aiohttp.ClientSession() as session:
        for url, bare_url in zip(urls, bare_urls, strict=True):
            await asyncio.sleep(random.uniform(0.15, 0.3))
            submitted[url] = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
            await door.submit(JobRequest("bench", [PageRequest(url)]))
            await asyncio.sleep(random.uniform(0.1, 0.15))
            began = time.perf_counter()
            async with session.get(bare_url) as response:
                await response.read()
            bare.append(time.perf_counter() - began)
    await asyncio.sleep(0.3)
    return submitted, bare


def measure(**options: Any) -> dict[str, Any]:
    return uvloop.run(run(**options))


if __name__ == "__main__":
    contestant(measure)
