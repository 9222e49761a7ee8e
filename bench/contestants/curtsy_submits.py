"""Jobs of one URL each, of hosts that are known: one after another, or several at once."""

import asyncio
from typing import Any

import uvloop

from bench.children import contestant
from bench.setting_up import opened, submitter
from bench.spent import Spent
from curtsy.jobs import JobRequest, PageRequest

HOSTS = 100
WARM_UP = 30


def _url(number: int) -> str:
    return f"http://host-{number % HOSTS}.example/page/{number}"


async def run(database: str, number: int, at_once: int) -> dict[str, Any]:
    async with opened(database) as (store, clock):
        door = submitter(store, clock)
        await door.submit(JobRequest("bench", [PageRequest(_url(i)) for i in range(HOSTS)]))
        waiting = iter(range(HOSTS, HOSTS + WARM_UP + number))

        async def submit(most: int) -> None:
            for _, page in zip(range(most), waiting, strict=False):
                await door.submit(JobRequest("bench", [PageRequest(_url(page))]))

        await submit(WARM_UP)
        spent = Spent()
        await asyncio.gather(*(submit(number // at_once) for _ in range(at_once)))
        return {"submits": number // at_once * at_once, **spent.until_now()}


def measure(**options: Any) -> dict[str, Any]:
    return uvloop.run(run(**options))


if __name__ == "__main__":
    contestant(measure)
