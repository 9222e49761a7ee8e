"""The API under load, beside a bare FastAPI app that answers a constant, on the same machine."""

import asyncio
import itertools
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from statistics import quantiles
from typing import Any

import aiohttp

from bench import children
from bench.databases import ENGINES, Databases
from bench.lines import Line
from bench.rounds import interleaved, medians, ratio
from bench.sizes import Sizes
from curtsy.demo.process import PracticeProcess

OF_BARE = 0.3
AT_ONCE = 32
BUSY = 503
UP_WITHIN_SECONDS = 20.0
_numbers = itertools.count()

Ask = Callable[[aiohttp.ClientSession], Any]


def run(sizes: Sizes, databases: Databases) -> list[Line]:
    lines: list[Line] = []
    for engine in ENGINES:
        with databases.fresh(engine) as url:
            job = _scraped_job(url)
            with server(None) as bare, server(url) as ours:
                lines += _compared(engine, bare.url, ours.url, job, sizes)
        lines.append(_while_busy(engine, sizes, databases))
    return lines


def _compared(engine: str, bare: str, ours: str, job: str, sizes: Sizes) -> Iterator[Line]:
    asks: dict[str, Ask] = {
        "bare": lambda s: s.get(f"{bare}/constant"),
        "submit": lambda s: s.post(f"{ours}/jobs/submit", json=_articles()),
        "status": lambda s: s.get(f"{ours}/jobs/{job}/status"),
        "results": lambda s: s.get(f"{ours}/jobs/{job}/results"),
    }
    contestants = {name: _rate(ask, sizes.requests) for name, ask in asks.items()}
    measured = interleaved(contestants, sizes.rounds)
    rates = medians(measured)
    for name in ("submit", "status", "results"):
        yield Line("api", f"{engine}, {name} / bare", f"{rates[name]:,.0f} /s",
                   f"{rates['bare']:,.0f} /s", ratio(measured, name, "bare"),
                   OF_BARE)  # fmt: skip


def _while_busy(engine: str, sizes: Sizes, databases: Databases) -> Line:
    """Requests for status, one at a time, while a worker in the same process fetches many pages."""
    with ExitStack() as stack:
        url = stack.enter_context(databases.fresh(engine))
        ours = stack.enter_context(server(url, worker=True)).url
        site = stack.enter_context(PracticeProcess(hosts=100))
        idle = asyncio.run(_latencies(ours, [], 200))
        urls = [site.url(n % 100, f"/page/{n}") for n in range(sizes.pages)]
        busy = asyncio.run(_latencies(ours, urls, 400))
    p99 = quantiles(busy, n=100)[-1] * 1000
    return Line("api", f"{engine}, status while a worker is busy beside it, p99", f"{p99:.1f} ms",
                f"idle {quantiles(idle, n=100)[-1] * 1000:.1f} ms", p99, unit="ms")  # fmt: skip


async def _latencies(ours: str, urls: list[str], number: int) -> list[float]:
    async with aiohttp.ClientSession() as session:
        job = await _submitted(session, ours, urls or ["http://a.example/1"])
        spent = []
        for _ in range(number):
            began = time.perf_counter()
            async with session.get(f"{ours}/jobs/{job}/status") as reply:
                await reply.read()
            spent.append(time.perf_counter() - began)
            await asyncio.sleep(0.005)
        return spent


def _rate(ask: Ask, number: int) -> Callable[[], float]:
    return lambda: asyncio.run(_load(ask, number))


async def _load(ask: Ask, number: int) -> float:
    """Answers a second over AT_ONCE connections. Refused requests are repeated."""
    left = iter(range(number))
    refused = 0

    async def one_after_another(session: aiohttp.ClientSession) -> None:
        nonlocal refused
        for _ in left:
            while await _status(session, ask) == BUSY:
                refused += 1

    connector = aiohttp.TCPConnector(limit=AT_ONCE)
    async with aiohttp.ClientSession(connector=connector) as session:
        began = time.perf_counter()
        async with asyncio.TaskGroup() as tasks:
            for _ in range(AT_ONCE):
                tasks.create_task(one_after_another(session))
        if refused:
            print(f"  refused with {BUSY}: {refused} times, beside {number} answers", flush=True)
        return number / (time.perf_counter() - began)


async def _status(session: aiohttp.ClientSession, ask: Ask) -> int:
    async with ask(session) as reply:
        await reply.read()
        if reply.status >= 300 and reply.status != BUSY:
            raise children.ContestantFailed(f"{reply.status} for {reply.url}")
        return int(reply.status)


def _articles() -> dict[str, Any]:
    return {"articles": [{"url": f"http://{next(_numbers) % 50}.example/{next(_numbers)}"}]}


def _scraped_job(database: str) -> str:
    """Scrapes a job of ten articles and returns its id."""
    with server(database, worker=True) as ours, PracticeProcess(hosts=10) as site:
        return asyncio.run(_scraped(ours.url, [site.url(n, f"/page/{n}") for n in range(10)]))


async def _scraped(ours: str, urls: list[str]) -> str:
    async with aiohttp.ClientSession() as session, asyncio.timeout(UP_WITHIN_SECONDS):
        job = await _submitted(session, ours, urls)
        while True:
            async with session.get(f"{ours}/jobs/{job}/status") as reply:
                found = await reply.json()
            if found["completed"] == len(urls):
                return job
            await asyncio.sleep(0.05)


async def _submitted(session: aiohttp.ClientSession, ours: str, urls: list[str]) -> str:
    body = {"articles": [{"url": url} for url in urls]}
    async with session.post(f"{ours}/jobs/submit", json=body) as reply:
        return str((await reply.json())["job_id"])


@dataclass(frozen=True, slots=True)
class Server:
    url: str
    pid: int


@contextmanager
def server(
    database: str | None, *, worker: bool = False, delay_ms: int = 1_000
) -> Iterator[Server]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    options = {"database": database, "port": port, "worker": worker, "delay_ms": delay_ms}
    with children.Child("api_server", **options) as child:
        deadline = time.monotonic() + UP_WITHIN_SECONDS
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 0.2).close()
            except OSError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)
            else:
                break
        yield Server(f"http://127.0.0.1:{port}", child.process.pid)
