"""Live streams: how soon many clients hear of an event, what each costs, and what a job does."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from datetime import datetime
from pathlib import Path
from statistics import median, quantiles

import aiohttp
from websockets.asyncio.client import ClientConnection, connect

from bench.api import Server, server
from bench.databases import ENGINES, Databases
from bench.lines import Line
from bench.sizes import Sizes
from curtsy.demo.process import PracticeProcess

MOST_SLOWDOWN = 1.1
FOLLOWERS = 10
QUIET = "http://nobody.example/1"


def run(sizes: Sizes, databases: Databases) -> list[Line]:
    lines: list[Line] = []
    for engine in ENGINES:
        with ExitStack() as stack:
            url = stack.enter_context(databases.fresh(engine))
            ours = stack.enter_context(server(url, worker=True))
            site = stack.enter_context(PracticeProcess(hosts=100))
            lines += asyncio.run(_measured(engine, ours, site, sizes))
    return lines


async def _measured(engine: str, ours: Server, site: PracticeProcess, sizes: Sizes) -> list[Line]:
    delays, kilobytes = await _many_clients(ours, sizes)
    p99 = quantiles(delays, n=100)[-1]
    without, beside = [], []
    for round_ in range(sizes.rounds):
        urls = [_pages(site, sizes.pages, f"{round_}{which}") for which in "ab"]
        without.append(await _processor_time(ours, urls[0], followers=0))
        beside.append(await _processor_time(ours, urls[1], followers=FOLLOWERS))
    ratio = median(b / w for b, w in zip(beside, without, strict=True))
    return [
        Line("streams", f"{engine}, an event to {sizes.clients:,} WebSockets, p99", f"{p99:.0f} ms",
             f"median {median(delays):.0f} ms", p99, unit="ms"),
        Line("streams", f"{engine}, memory of each", f"{kilobytes:.0f} KB", "", kilobytes,
             unit="KB"),
        Line("streams", f"{engine}, processor time of a job with {FOLLOWERS} followers / none",
             f"{median(beside):.2f} s", f"{median(without):.2f} s", ratio, MOST_SLOWDOWN,
             at_least=False),
    ]  # fmt: skip


def _pages(site: PracticeProcess, number: int, which: str) -> list[str]:
    return [site.url(n % 100, f"/page/{n}?which={which}") for n in range(number)]


async def _many_clients(ours: Server, sizes: Sizes) -> tuple[list[float], float]:
    """Milliseconds from an event to each client, and kilobytes of the server for each."""
    async with aiohttp.ClientSession() as session:
        job = await _submitted(session, ours, [QUIET])
        before = _resident(ours)
        async with _following(ours, "/ws", sizes.clients) as sockets:
            await asyncio.sleep(1)
            kilobytes = (_resident(ours) - before) / sizes.clients
            hearing = [asyncio.create_task(_delays(socket, sizes.heard)) for socket in sockets]
            for n in range(sizes.heard):
                await _submitted(session, ours, [f"{QUIET}{n}"])
                await asyncio.sleep(0.3)
            found = await asyncio.gather(*hearing)
        await session.delete(f"{ours.url}/jobs/{job}")
    return [delay for of_client in found for delay in of_client], kilobytes


async def _delays(socket: ClientConnection, number: int) -> list[float]:
    found: list[float] = []
    while len(found) < number:
        message = json.loads(await socket.recv())
        if message["event"] == "job_queued":
            found.append(time.time() * 1000 - _milliseconds(message["at"]))
    return found


def _milliseconds(moment: str) -> float:
    return datetime.fromisoformat(moment).timestamp() * 1000


async def _processor_time(ours: Server, urls: list[str], *, followers: int) -> float:
    """Seconds of the server's processor time until the job has ended."""
    async with aiohttp.ClientSession() as session:
        began = _spent(ours)
        job = await _submitted(session, ours, urls)
        async with _following(ours, f"/ws/jobs/{job}", followers) as sockets:
            hearing = [asyncio.create_task(_to_the_end(socket)) for socket in sockets]
            while True:
                async with session.get(f"{ours.url}/jobs/{job}/status") as reply:
                    if (await reply.json())["status"] != "IN_PROGRESS":
                        break
                await asyncio.sleep(0.25)
            await asyncio.gather(*hearing)
        return _spent(ours) - began


async def _to_the_end(socket: ClientConnection) -> None:
    async for message in socket:
        if json.loads(message)["status"] != "IN_PROGRESS":
            return


@asynccontextmanager
async def _following(ours: Server, path: str, number: int) -> AsyncIterator[list[ClientConnection]]:
    url = ours.url.replace("http://", "ws://") + path
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(connect(url)) for _ in range(number)]


async def _submitted(session: aiohttp.ClientSession, ours: Server, urls: list[str]) -> str:
    body = {"articles": [{"url": url} for url in urls], "ignore_cache": True}
    async with session.post(f"{ours.url}/jobs/submit", json=body) as reply:
        return str((await reply.json())["job_id"])


def _resident(ours: Server) -> float:
    status = Path(f"/proc/{ours.pid}/status").read_text()
    return float(status.split("VmRSS:")[1].split()[0])


def _spent(ours: Server) -> float:
    fields = Path(f"/proc/{ours.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100
