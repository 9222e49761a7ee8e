"""A source's policy at work: what is said of it holds for its next request."""

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from itertools import combinations, pairwise
from typing import Any

import pytest
from aiohttp import web

from curtsy.clock import DAY, HOUR, MINUTE
from curtsy.demo.access_log import TICK_MS, arrived_ns
from curtsy.frontier.source_policy import Description, PolicyContext, describe
from curtsy.politeness import strain
from curtsy.politeness.policy import Policy
from curtsy.sources.source import pause_source, resume_source
from support.engine import Engine, settings, until
from support.patience import TRIES

LATE = 2 * TICK_MS / 1000
"""Seconds by which the kernel's account may be late."""
QUICK = Policy(min_delay=5, retry_base=50, retry_cap=50, max_retries=0)


@dataclass
class Site:
    """Notes when each request came, by the kernel's account, and how it asked."""

    url: str = ""
    robots: str = ""
    answer_seconds: float = 0.0
    asked: list[tuple[str, float, dict[str, str]]] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.url.removeprefix("http://")

    @property
    def paths(self) -> list[str]:
        return [path for path, _at, _headers in self.asked]

    @property
    def times(self) -> list[float]:
        return [at for _path, at, _headers in self.asked]

    @property
    def gaps(self) -> list[float]:
        return [later - sooner for sooner, later in pairwise(self.times)]

    def pages(self, number: int, of: str = "p") -> list[str]:
        return [f"{self.url}/{of}{n}" for n in range(number)]

    async def answer(self, request: web.Request) -> web.Response:
        assert request.transport is not None
        at = arrived_ns(request.transport.get_extra_info("socket")) / 10**9
        self.asked.append((request.path, at, dict(request.headers)))
        if request.path == "/robots.txt":
            return web.Response(text=self.robots)
        await asyncio.sleep(self.answer_seconds)
        return web.Response(text="Hello")


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    served = Site()
    app = web.Application()
    app.router.add_get("/{path:.*}", served.answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    place = web.TCPSite(runner, "127.0.0.1", 0)
    await place.start()
    served.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield served
    await runner.cleanup()


async def described(curtsy: Engine, site: Site, **policy: Any) -> None:
    around = PolicyContext(QUICK, 3_000, curtsy.clock.now())
    await curtsy.store.write(lambda c: describe(c, Description(site.name, policy), around))


async def test_it_is_asked_under_the_name_and_with_the_headers_that_are_said(
    curtsy: Engine, site: Site
) -> None:
    site.robots = "User-agent: visitor\nDisallow: /no\n\nUser-agent: *\nDisallow: /\n"
    await described(curtsy, site, user_agent="visitor/2 (ann@example.org)", headers={"X-Team": "a"})
    async with curtsy.worker(settings(QUICK, obeys_robots=True)):
        job = await curtsy.submit(f"{site.url}/yes", f"{site.url}/no")
        row = await curtsy.ended(job)
    assert (row.done, row.failed) == (1, 1)
    assert site.paths == ["/robots.txt", "/yes"]
    for _path, _at, headers in site.asked:
        assert headers["User-Agent"] == "visitor/2 (ann@example.org)"
        assert headers["X-Team"] == "a"


async def test_robots_txt_is_not_asked_for_where_the_policy_says_so(
    curtsy: Engine, site: Site
) -> None:
    site.robots = "User-agent: *\nDisallow: /\n"
    await described(curtsy, site, robots=False)
    async with curtsy.worker(settings(QUICK, obeys_robots=True)):
        row = await curtsy.ended(await curtsy.submit(f"{site.url}/yes"))
    assert (row.done, site.paths) == (1, ["/yes"])


async def test_an_attempt_takes_no_longer_than_is_said(curtsy: Engine, site: Site) -> None:
    site.answer_seconds = 60
    await described(curtsy, site, timeout=2_500)
    async with curtsy.worker(settings(QUICK)):
        job = await curtsy.submit(f"{site.url}/slow")
        await curtsy.ended(job, 10)
    [item] = await curtsy.items(job)
    assert item.kind == "timeout"


async def test_a_burst_is_followed_by_an_even_pace(curtsy: Engine, site: Site) -> None:
    await described(curtsy, site, requests_per_hour=18_000, burst_limit=5)  # one in 200 ms
    async with curtsy.worker(settings(QUICK)):
        await curtsy.ended(await curtsy.submit(*site.pages(10)))
    assert sorted(site.gaps[:4])[2] < 0.19, "five together, but for one that was held up"
    for (i, sooner), (j, later) in combinations(enumerate(site.times), 2):
        assert later - sooner >= (j - i + 1 - 5) * 0.2 - LATE


async def test_the_next_worker_knows_of_the_burst(curtsy: Engine, site: Site) -> None:
    await described(curtsy, site, requests_per_hour=1_800, burst_limit=4)
    async with curtsy.worker(settings(QUICK)):
        await curtsy.ended(await curtsy.submit(*site.pages(4)))
    async with curtsy.worker(settings(QUICK)):
        await curtsy.ended(await curtsy.submit(*site.pages(1, "again")))
    assert site.times[-1] - site.times[0] >= 2 - LATE, "as it is spread over the hour"


async def test_closed_hours_end_when_the_policy_says_so(curtsy: Engine, site: Site) -> None:
    minute = curtsy.clock.now() % DAY // MINUTE
    closed = {"start": (minute - 60) % 1440, "end": (minute + 60) % 1440, "closed": True}
    await described(curtsy, site, hours=closed)
    async with curtsy.worker(settings(QUICK)):
        job = await curtsy.submit(*site.pages(3))
        await asyncio.sleep(1.5)  # time in which all would have been asked for
        assert site.asked == []
        row = await curtsy.query("SELECT next_fetch_at FROM sources")
        assert row[0].next_fetch_at is None or row[0].next_fetch_at <= curtsy.clock.now() + HOUR
        await described(curtsy, site)
        assert (await curtsy.ended(job)).done == 3


async def test_answers_that_climb_slow_us_down(
    curtsy: Engine, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(strain, "NOTICED_FROM", 100)
    await described(curtsy, site, min_delay=5)

    async def distance() -> int:
        """Milliseconds from the last request to the next."""
        [source] = await curtsy.query("SELECT paced_at, next_fetch_at FROM sources")
        return int(source.next_fetch_at - source.paced_at)

    async with curtsy.worker(settings(QUICK)):
        await curtsy.ended(await curtsy.submit(*site.pages(100)))
        usual = await distance()
        site.answer_seconds = 0.5
        await curtsy.ended(await curtsy.submit(*site.pages(6, "late")))
        assert await distance() >= usual + 150, "twice as much and more"


async def test_a_pause_stops_starts_within_a_second_and_loses_nothing(
    curtsy: Engine, site: Site
) -> None:
    await described(curtsy, site, min_delay=50)
    async with curtsy.worker(settings(QUICK)):
        job = await curtsy.submit(*site.pages(400))
        for _ in range(TRIES):
            late = await _asked_after_a_pause(curtsy, site)
            await curtsy.store.write(lambda c: resume_source(c, site.name, now=curtsy.clock.now()))
            if late <= 0:
                break
        assert late <= 0, "seconds after a pause, and more than one"
        await described(curtsy, site, min_delay=1)
        assert (await curtsy.ended(job)).done == 400
    assert len(site.paths) == len(set(site.paths)) == 400


async def _asked_after_a_pause(curtsy: Engine, site: Site) -> float:
    """By how many seconds more than one, before all was quiet."""
    stood = len(site.asked)

    async def going() -> bool:
        return len(site.asked) >= stood + 3

    async def given_back() -> bool:
        [source] = await curtsy.query("SELECT owner FROM sources")
        return source.owner is None

    await until(going, 30, lambda: "it does not start")
    await curtsy.store.write(lambda c: pause_source(c, site.name, by="ann"))
    paused_at = time.monotonic()
    await until(given_back, 30, lambda: "the paused source is still held")
    stood = len(site.asked)
    await asyncio.sleep(0.5)  # time in which it would start several
    assert len(site.asked) == stood < 400
    return site.times[-1] - paused_at - 1.2
