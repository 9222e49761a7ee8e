"""Live streams: latency of events with many clients, cost per client, and cost for a job."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import aiohttp

from bench import children
from bench.api import BUSY, Server, server
from bench.databases import ENGINES, Databases
from bench.lines import Line
from bench.sizes import Sizes
from bench.spent import processor_time
from curtsy.demo.process import PracticeProcess

MOST_SLOWDOWN = 1.1
FOLLOWERS = 10
HOSTS = 100
PAGES_A_SECOND = (1, 10)
"""Sites of a polite job, each with one page a second."""
SETTLE_SECONDS = 1.5
ENDS_WITHIN_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Cost:
    """Duration of one job and its processor seconds, readers included."""

    seconds: float
    processor: float


def run(sizes: Sizes, databases: Databases) -> list[Line]:
    lines: list[Line] = []
    for engine in ENGINES:
        with _serving(engine, databases, delay_ms=1_000) as (ours, site):
            lines += _to_many(engine, ours, site, sizes)
        with _serving(engine, databases, delay_ms=0) as (ours, site):
            lines += _beside_followers(engine, ours, site, sizes)
    return lines


@contextmanager
def _serving(
    engine: str, databases: Databases, *, delay_ms: int
) -> Iterator[tuple[Server, PracticeProcess]]:
    with ExitStack() as stack:
        url = stack.enter_context(databases.fresh(engine))
        ours = stack.enter_context(server(url, worker=True, delay_ms=delay_ms))
        yield ours, stack.enter_context(PracticeProcess(hosts=HOSTS))


def _to_many(engine: str, ours: Server, site: PracticeProcess, sizes: Sizes) -> Iterator[Line]:
    with _listeners(ours, "/ws", 10):  # what the first ones cost is not for each
        asyncio.run(_job(ours, _urls(site, 10, 10, "warm")))
    before = _resident(ours)
    for rate in PAGES_A_SECOND:
        with _listeners(ours, "/ws", sizes.clients) as ears:
            kilobytes = (_resident(ours) - before) / sizes.clients
            asyncio.run(_job(ours, _urls(site, rate * sizes.heard, rate, f"many{rate}")))
            delays = _heard(ears, sizes.clients * rate * sizes.heard)["delays"]
        if rate == PAGES_A_SECOND[0]:
            yield Line("streams", f"{engine}, memory of each of {sizes.clients:,} WebSockets",
                       f"{kilobytes:.0f} KB", "", kilobytes, unit="KB")  # fmt: skip
        p99 = quantiles(delays, n=100)[-1]
        what = f"{engine}, an event to {sizes.clients:,} WebSockets, {rate} pages a second, p99"
        yield Line("streams", what, f"{p99:.0f} ms", f"median {median(delays):.0f} ms", p99,
                   unit="ms")  # fmt: skip


def _beside_followers(
    engine: str, ours: Server, site: PracticeProcess, sizes: Sizes
) -> Iterator[Line]:
    """Runs pairs of jobs, one of them followed; which one is first alternates."""
    _cost(ours, site, sizes.followed_pages // 4, followers=0, which="warm")
    pairs: list[dict[int, Cost]] = []
    for pair in range(sizes.pairs):
        order = (0, FOLLOWERS) if pair % 2 else (FOLLOWERS, 0)
        pairs.append({
            followers: _cost(ours, site, sizes.followed_pages, followers, f"{pair}.{followers}")
            for followers in order
        })  # fmt: skip
        print(f"  {engine}, pair {pair + 1}: {pairs[-1]}", flush=True)
    yield _slower(f"{engine}, time of a job", pairs, "seconds", MOST_SLOWDOWN)
    yield _slower(f"{engine}, processor time of a job", pairs, "processor", None)


def _slower(what: str, pairs: list[dict[int, Cost]], of: str, bar: float | None) -> Line:
    ours = [getattr(pair[FOLLOWERS], of) for pair in pairs]
    alone = [getattr(pair[0], of) for pair in pairs]
    figure = median(a / b for a, b in zip(ours, alone, strict=True))
    return Line("streams", f"{what} with {FOLLOWERS} followers / none", f"{median(ours):.2f} s",
                f"{median(alone):.2f} s", figure, bar, at_least=False)  # fmt: skip


def _cost(ours: Server, site: PracticeProcess, pages: int, followers: int, which: str) -> Cost:
    return asyncio.run(_followed(ours, _urls(site, pages, HOSTS, which), followers))


async def _followed(ours: Server, urls: list[str], followers: int) -> Cost:
    """Starts a process of listeners in any case, even without connections."""
    before = processor_time(ours.pid)
    async with _submitted(ours, urls) as (session, job):
        with _listeners(ours, f"/ws/jobs/{job}?after=0", followers) as ears:
            status = await _ended(session, ours, job)
            await asyncio.sleep(SETTLE_SECONDS)
            processor = processor_time(ours.pid) - before
            _heard(ears, followers * len(urls))
    return Cost(_moment(status["completed_at"]) - _moment(status["created_at"]), processor)


async def _job(ours: Server, urls: list[str]) -> None:
    async with _submitted(ours, urls) as (session, job):
        await _ended(session, ours, job)
        await asyncio.sleep(SETTLE_SECONDS)


@asynccontextmanager
async def _submitted(
    ours: Server, urls: list[str]
) -> AsyncIterator[tuple[aiohttp.ClientSession, str]]:
    body = {"articles": [{"url": url} for url in urls], "ignore_cache": True}
    async with aiohttp.ClientSession() as session:
        async with session.post(f"{ours.url}/jobs/submit", json=body) as reply:
            job = (await reply.json())["job_id"]
        yield session, job


async def _ended(session: aiohttp.ClientSession, ours: Server, job: str) -> dict[str, Any]:
    """The job's final status; a job that does not end in time raises an error."""
    async with asyncio.timeout(ENDS_WITHIN_SECONDS):
        while True:
            async with session.get(f"{ours.url}/jobs/{job}/status") as reply:
                status: dict[str, Any] = await reply.json()
            if reply.status == BUSY:
                print(f"  refused: {status['detail']}", flush=True)
            elif status["status"] != "IN_PROGRESS":
                return status
            await asyncio.sleep(0.25)


@contextmanager
def _listeners(ours: Server, path: str, number: int) -> Iterator[children.Child]:
    port = int(ours.url.rpartition(":")[2])
    options = {"port": port, "path": path, "number": number, "event": "page_fetched"}
    with children.Child("listeners", **options) as child:
        child.wait_until_ready()
        yield child


def _heard(ears: children.Child, events: int) -> dict[str, Any]:
    heard = ears.answer()
    if len(heard["delays"]) != events:
        raise AssertionError(f"{len(heard['delays'])} events were heard, not {events}")
    return heard


def _urls(site: PracticeProcess, number: int, hosts: int, which: str) -> list[str]:
    return [site.url(n % hosts, f"/page/{n}?which={which}") for n in range(number)]


def _moment(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def _resident(ours: Server) -> float:
    status = Path(f"/proc/{ours.pid}/status").read_text()
    return float(status.split("VmRSS:")[1].split()[0])
