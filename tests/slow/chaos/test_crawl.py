"""A crawl that several workers share, while they are killed: every page of the site, once."""

import asyncio

import orjson

from chaos.trouble import Trouble
from chaos.world import World, world
from curtsy.demo import news
from curtsy.demo.process import PracticeProcess
from curtsy.frontier.crawls.leads import Crawl
from curtsy.jobs import JobRequest, PageRequest
from curtsy.model.scope import scope_around
from curtsy.model.urls import canonical
from support.processes import Fleet

HOSTS = range(30, 42)
WORKERS = 3


def newspapers(site: PracticeProcess) -> JobRequest:
    """The front pages of many newspapers, and all that they lead to."""
    starts = [site.url(host, "/news/") for host in HOSTS]
    scope = scope_around(((url, canonical(url).host) for url in starts), "host")
    terms = {"scope": scope.to_json(), "max_age": 0, "headers": []}
    crawl = Crawl(depth=4, max_pages=5_000, priority=5, scope=orjson.dumps(terms).decode())
    return JobRequest("crawl", [PageRequest(url) for url in starts], crawl=crawl)


async def paths_by_host(made: World, job: str) -> dict[str, list[str]]:
    rows = await made.store.read(
        lambda c: c.execute(
            "SELECT p.host, p.url FROM items i JOIN pages p ON p.id = i.page_id "
            f"JOIN jobs j ON j.id = i.job_id WHERE j.public_id = '{job}'"
        ).all()
    )
    found: dict[str, list[str]] = {}
    for host, url in rows:
        found.setdefault(host, []).append("/" + url.split("/", 3)[3])
    return found


async def test_a_crawl_comes_to_every_page_once_whoever_dies(
    fleet: Fleet, practice: PracticeProcess, postgres_url: str
) -> None:
    await crawled_under_fire(postgres_url, fleet, practice)


async def test_so_does_one_in_a_file(
    file_fleet: Fleet, practice: PracticeProcess, sqlite_url: str
) -> None:
    await crawled_under_fire(sqlite_url, file_fleet, practice)


async def crawled_under_fire(url: str, fleet: Fleet, practice: PracticeProcess) -> None:
    async with world(url, fleet, practice) as made:
        for _ in range(WORKERS):
            fleet.worker()
        made.jobs.append((await made.submitter.submit(newspapers(practice))).job)
        trouble = Trouble(fleet, made.rng)
        async with asyncio.TaskGroup() as group:
            await made.done(10)
            group.create_task(trouble.last(5, [trouble.kill], every=(0.5, 1.0), least=3))
        reckoning = await made.reckoning(90)
        print(f"{reckoning}; {dict(trouble.made)}")
        assert reckoning.violations == []
        found = await paths_by_host(made, made.jobs[0])
    assert trouble.made["kill"] >= 3
    assert len(found) == len(HOSTS)
    for paths in found.values():
        assert len(paths) == len(set(paths))
        assert set(news.BY_PATH) <= set(paths)
