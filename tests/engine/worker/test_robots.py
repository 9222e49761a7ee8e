"""robots.txt and the lane: one request among others, asked for once, kept for all workers."""

from typing import Any

import pytest
import zstandard

from curtsy.demo.access_log import TICK_MS
from curtsy.demo.process import PracticeProcess
from curtsy.demo.truth import smallest_gap
from curtsy.politeness.policy import Policy
from curtsy.worker import WorkerSettings
from support.engine import Engine, settings
from support.hostile import Script, Servers, page, status

LATE = 2 * TICK_MS / 1000
"""Seconds by which a site's stamps may be late."""
SLOWLY = b"User-agent: *\nCrawl-delay: 0.3\n"


def obedient(policy: Policy | None = None, **changes: Any) -> WorkerSettings:
    return settings(policy or Policy(min_delay=5), obeys_robots=True, **changes)


def host(*robots: bytes) -> Servers:
    return Servers({"host": Script(robots_txt=list(robots))})


async def visit(curtsy: Engine, servers: Servers, *paths: str) -> None:
    job = await curtsy.submit(*(servers.url("host", path) for path in paths))
    await curtsy.ended(job)


async def test_no_page_is_asked_for_before_the_file_and_the_file_only_once(curtsy: Engine) -> None:
    """Also where many requests may be open at once."""
    many = obedient(Policy(min_delay=0, concurrency=8))
    async with host(page(b"")) as servers, curtsy.worker(many):
        await visit(curtsy, servers, *(f"/{n}" for n in range(40)))
    assert servers.paths["host"][0] == "/robots.txt"
    assert servers.paths["host"].count("/robots.txt") == 1
    assert len(servers.paths["host"]) == 41


async def test_the_file_is_a_request_that_waits_its_turn_like_any_other(
    curtsy: Engine, site_apart: PracticeProcess
) -> None:
    async with curtsy.worker(obedient(Policy(min_delay=300))):
        job = await curtsy.submit(*(site_apart.url(0, f"/page/{n}") for n in range(3)))
        await curtsy.ended(job)
    site_apart.stop()
    entries = site_apart.entries()
    assert entries[0].path == "/robots.txt"
    assert len(entries) == 4
    gap = smallest_gap(entries, "127.0.1.1")
    assert gap is not None
    assert gap >= 0.3 - LATE


async def test_another_worker_does_not_ask_again(curtsy: Engine) -> None:
    rules = page(b"User-agent: *\nDisallow: /no")
    async with host(rules) as servers:
        for n in range(3):
            async with curtsy.worker(obedient()):
                await visit(curtsy, servers, f"/{n}", f"/no/{n}")
    assert servers.paths["host"] == ["/robots.txt", "/0", "/1", "/2"]


async def test_it_is_asked_for_again_when_it_is_old(curtsy: Engine) -> None:
    async with host(page(b""), page(b"User-agent: *\nDisallow: /")) as servers:
        for n in range(2):
            async with curtsy.worker(obedient()):
                await visit(curtsy, servers, f"/{n}")
            await curtsy.execute("UPDATE hosts SET robots_expires_at = 1")
    assert servers.paths["host"] == ["/robots.txt", "/0", "/robots.txt"]


@pytest.mark.parametrize(
    ("header", "hours"),
    [(b"X-None: 0", 24), (b"Cache-Control: public, max-age=7200", 2),
     (b"Cache-Control: max-age=0", 1 / 12), (b"Cache-Control: max-age=99999999", 24)],
)  # fmt: skip
async def test_it_is_kept_as_long_as_the_host_says_within_bounds(
    curtsy: Engine, header: bytes, hours: float
) -> None:
    async with host(page(b"", header)) as servers, curtsy.worker(obedient()):
        await visit(curtsy, servers, "/1")
    [row] = await curtsy.query("SELECT robots_expires_at AS at, robots_status AS status FROM hosts")
    assert (row.at - curtsy.clock.now()) / 3_600_000 == pytest.approx(hours, abs=0.05)
    assert row.status == 200


async def test_the_delay_that_it_asks_for_is_kept_from_the_first_page_on(
    curtsy: Engine, site_apart: PracticeProcess
) -> None:
    """By a second worker too, which did not read the file itself."""
    async with curtsy.worker(obedient()):
        await curtsy.ended(await curtsy.submit(site_apart.url(0, "/page/0")))
    await curtsy.execute("UPDATE hosts SET robots = :file", file=zstandard.compress(SLOWLY))
    async with curtsy.worker(obedient()):
        job = await curtsy.submit(*(site_apart.url(0, f"/page/{n}") for n in range(1, 5)))
        await curtsy.ended(job)
    site_apart.stop()
    gap = smallest_gap(site_apart.entries()[2:], "127.0.1.1")
    assert gap is not None
    assert gap >= 0.3 - LATE


async def test_the_first_page_comes_no_sooner_than_the_delay_after_the_file(
    curtsy: Engine,
) -> None:
    async with host(page(SLOWLY)) as servers, curtsy.worker(obedient()):
        await visit(curtsy, servers, "/1", "/2")
    first, second = servers.at["host"][0:2]
    assert second - first >= 0.3 - LATE


async def test_an_absurd_delay_is_capped(curtsy: Engine) -> None:
    absurd = page(b"User-agent: *\nCrawl-delay: 86400\n")
    async with (
        host(absurd) as servers,
        curtsy.worker(obedient(Policy(min_delay=5, crawl_delay_cap=50))),
    ):
        await visit(curtsy, servers, "/1", "/2")
    assert servers.paths["host"] == ["/robots.txt", "/1", "/2"]


async def test_a_page_that_moves_to_another_host_minds_that_hosts_file(curtsy: Engine) -> None:
    here = Script(robots_txt=[status(b"404 Not Found")])
    other = Script(robots_txt=[page(b"User-agent: *\nDisallow: /")])
    async with Servers({"host": here, "other": other}) as servers, curtsy.worker(obedient()):
        there = servers.url("other", "/landed").encode()
        here.answers["/away"] = [status(b"302 Found", b"Location: " + there)]
        job = await curtsy.submit(servers.url("host", "/away"))
        await curtsy.ended(job)
        [item] = await curtsy.items(job)
    assert item.kind == "robots_denied"
    assert servers.paths == {"host": ["/robots.txt", "/away"], "other": ["/robots.txt"]}


async def test_who_ignores_it_does_not_ask_for_it(curtsy: Engine) -> None:
    async with host(page(b"User-agent: *\nDisallow: /")) as servers, curtsy.worker(settings()):
        await visit(curtsy, servers, "/1")
    assert servers.paths["host"] == ["/1"]
