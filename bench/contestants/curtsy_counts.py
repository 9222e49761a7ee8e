"""When a submit of one URL begins and ends, and when its request arrives: whoever noted the
statements can count those between. On SQLite this process notes them itself."""

import asyncio
import time
from typing import Any, cast

import uvloop

from bench.children import contestant
from bench.setting_up import LOOPBACK, opened
from bench.statement_trace import trace_statements
from curtsy.jobs import JobRequest, PageRequest, SubmitLimits, Submitter
from curtsy.politeness.policy import Policy
from curtsy.worker import Worker, WorkerSettings

REST_SECONDS = 0.6
"""Enough for a worker to store its last page, to release the source and to come to rest."""
START_SECONDS = 30
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5\r\n\r\nfound"


def now() -> int:
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


class Site(asyncio.Protocol):
    """Answers every request, and sets the future of the awaited one."""

    awaited: asyncio.Future[int]

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, _data: bytes) -> None:
        if not Site.awaited.done():
            Site.awaited.set_result(now())
        self._transport.write(ANSWER)


async def _submits(door: Submitter, urls: list[str]) -> list[tuple[int, int]]:
    spans = []
    for url in urls:
        began = now()
        await door.submit(JobRequest("bench", [PageRequest(url)]))
        spans.append((began, now()))
    return spans


async def run(database: str, samples: int) -> dict[str, Any]:
    begun = trace_statements()
    loop = asyncio.get_running_loop()
    committed: list[int] = []
    async with opened(database) as (store, clock):
        door = Submitter(store=store, clock=clock, limits=SubmitLimits(allow=LOOPBACK),
                         delay_ms=1_000)  # fmt: skip
        await _submits(door, ["http://first.example/1", "http://first.example/2"])
        new = await _submits(door, [f"http://new-{n}.example/1" for n in range(samples)])
        known = await _submits(door, [f"http://new-{n}.example/2" for n in range(samples)])
        settings = WorkerSettings(allow=LOOPBACK, policy=Policy(robots=False))
        worker = Worker(store=store, clock=clock, settings=settings)
        running = asyncio.create_task(worker.run())

        def on_submitted() -> None:
            committed.append(now())
            worker.wake()

        door = Submitter(store=store, clock=clock, limits=SubmitLimits(allow=LOOPBACK),
                         delay_ms=1_000, on_submitted=on_submitted)  # fmt: skip
        site = await loop.create_server(Site, "0.0.0.0", 0)
        port = site.sockets[0].getsockname()[1]
        starts = []
        for n in range(1 + samples):
            await asyncio.sleep(REST_SECONDS)
            Site.awaited = loop.create_future()
            await _submits(door, [f"http://127.0.1.{1 + n}:{port}/"])
            starts.append((committed[-1], await asyncio.wait_for(Site.awaited, START_SECONDS)))
        await asyncio.sleep(REST_SECONDS)
        await worker.stop()
        await running
        site.close()
    return {"new": new, "known": known, "starts": starts[1:], "begun": begun}


def measure(**options: Any) -> dict[str, Any]:
    return uvloop.run(run(**options))


if __name__ == "__main__":
    contestant(measure)
