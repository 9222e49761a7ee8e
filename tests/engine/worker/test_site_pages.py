"""Pages of sites through the whole worker: where they lead, and where a listing ends."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from curtsy.extract import ExtractLimits
from curtsy.extract.inspection import inspect_scrapers
from curtsy.frontier.crawls.leads import Crawl
from curtsy.jobs import JobRequest, PageRequest
from curtsy.model.scope import scope_around
from curtsy.model.urls import canonical
from curtsy.politeness.policy import Policy
from curtsy.scrapers import NAMES
from curtsy.scrapers.registry import OwnScrapers
from curtsy.sites.records import gather_next
from curtsy.sites.runs import run_request
from curtsy.sites.site import put_site
from curtsy.sites.spec import SiteSpec
from support.engine import Engine, settings
from support.pages import PageServer

FAST = Policy(min_delay=0, concurrency=8, retry_base=20, retry_cap=40)
PAGE = b"<ul><li><b>x</b></ul><a href=/a>a</a><a href=/b>b</a>"
RECIPE = {"record": "li", "list": "ul", "fields": {"name": "b"}}
OWN = """
from curtsy.scrapers import Found, scraper

@scraper
def listed(page):
    return [{"url": page.url}]

@scraper
def chosen(page):
    return Found(records=[{"url": page.url}], links=["/a"])

@scraper
def onward(page):
    return Found(records=[{"url": page.url}], next="/b" if page.url.endswith("/") else None)

@scraper
def ended(page):
    return Found(records=[{"url": page.url}], next=None)

@scraper
def none(page):
    return Found(records=[{"url": page.url}], links=[])
"""


@pytest.fixture
def own(tmp_path: Path, curtsy: Engine) -> OwnScrapers:
    file = tmp_path / "mine.py"
    file.write_text(OWN)
    found = inspect_scrapers([str(file)])
    curtsy.submitter.limits = replace(curtsy.submitter.limits, scrapers=NAMES | found.names)
    return found


async def scraped(
    curtsy: Engine, pages: Iterable[str], own: OwnScrapers | None = None, **words: Any
) -> tuple[Any, list[str]]:
    """The run when it has ended, and what it asked for."""
    extract = ExtractLimits(processes=1, seconds=20)
    async with PageServer(dict.fromkeys(pages, PAGE)) as server:
        said = {"results_per_page": 10, "defaults": {"results_wanted": 40}} | words
        said["search_url"] = server.url(words.get("search_url", "/"))
        site = await curtsy.store.write(
            lambda c: put_site(c, "mine", SiteSpec.model_validate(said), described_as=None, now=1)
        )
        async with curtsy.worker(settings(FAST, extract=extract, own=own or OwnScrapers())):
            job = (await curtsy.submitter.submit(run_request(site, {}))).job
            return await curtsy.ended(job, 60), sorted(server.asked)


@pytest.mark.parametrize(
    ("scraper", "asked"), [("listed", ["/"]), ("chosen", ["/", "/a"]), ("onward", ["/", "/b"])]
)
async def test_a_site_follows_what_its_scraper_chose_and_nothing_else(
    curtsy: Engine, own: OwnScrapers, scraper: str, asked: list[str]
) -> None:
    ended, found = await scraped(curtsy, ["/", "/a", "/b"], own, scraper=scraper)
    assert (ended.state, found) == ("succeeded", asked)


@pytest.mark.parametrize(
    ("scraper", "asked"),
    [
        ("listed", ["/", "/a", "/b"]),
        ("chosen", ["/", "/a"]),
        ("onward", ["/", "/b"]),
        ("ended", ["/"]),
        ("none", ["/"]),
        ("listing", ["/"]),
    ],
)
async def test_a_crawl_follows_all_links_only_where_its_scraper_says_nothing(
    curtsy: Engine, own: OwnScrapers, scraper: str, asked: list[str]
) -> None:
    extract = ExtractLimits(processes=1, seconds=20)
    params = {"recipe": RECIPE} if scraper == "listing" else {}
    async with PageServer(dict.fromkeys(("/", "/a", "/b"), PAGE)) as server:
        start = canonical(server.url("/"))
        scope = scope_around([start], "host").to_json()
        terms = {"scope": scope, "max_age": 0, "headers": [], "params": params}
        crawl = Crawl(depth=3, max_pages=50, priority=5, scope=orjson.dumps(terms).decode())
        request = JobRequest(door="crawl", pages=[PageRequest(start.text)], scraper=scraper,
                             scraper_params=params, crawl=crawl)  # fmt: skip
        async with curtsy.worker(settings(FAST, extract=extract, own=own)):
            ended = await curtsy.ended((await curtsy.submitter.submit(request)).job, 60)
    assert (ended.state, sorted(server.asked)) == ("succeeded", asked)


def listing(numbers: Iterable[int], following: str | None = None) -> bytes:
    records = "".join(f"<li><b>{n}</b></li>" for n in numbers)
    link = f"<a class=next href='{following}'>on</a>" if following else ""
    return f"<ul>{records}</ul>{link}".encode()


THREE = {"/": listing(range(10), "/2"), "/2": listing(range(10, 20), "/3"), "/3": listing([20])}
CIRCLE = {"/": listing(range(10), "/2"), "/2": listing(range(10, 20), "/?")}
OVERLAP = {"/": listing(range(10), "/2"), "/2": listing(range(5, 15), "/3"),
           "/3": listing(range(10, 30), "/4"), "/4": listing([99])}  # fmt: skip
EMPTY = {"/": listing(range(10), "/2"), "/2": listing([], "/3"), "/3": listing([1, 20])}
ENDLESS = {"/": listing([0], "/1")} | {f"/{n}": listing([n], f"/{n + 1}") for n in range(1, 40)}
AWAY = {"/": listing(range(10), "http://other.example/2")}


@pytest.mark.parametrize(
    ("pages", "said", "wanted", "asked", "records", "end"),
    [
        (THREE, {}, 21, 3, 21, "These are the 21 that were wanted."),
        (THREE, {"results_per_page": 20}, 21, 3, 21, "These are the 21 that were wanted."),
        (THREE, {"results_per_page": 1}, 15, 2, 15, "wanted; the pages had more."),
        (THREE, {"results_per_page": 1}, 10, 1, 10, "These are the 10 that were wanted."),
        (THREE, {}, 30, 3, 21, "The listing ended after 3 pages: 30 were wanted."),
        (THREE, {"max_pages": 2}, 21, 2, 20, "ended at its limit of 2 pages: the listing goes on."),
        (THREE, {"max_pages": 1}, 21, 1, 10, "ended at its limit of 1 page: the listing goes on."),
        (CIRCLE, {}, 21, 2, 20, "leads back to http://127.0.2.1"),
        (OVERLAP, {}, 21, 3, 21, "wanted; the pages had more."),
        (EMPTY, {}, 11, 3, 11, "These are the 11 that were wanted."),
        (ENDLESS, {}, 25, 10, 10, "ended at its limit of 10 pages"),
        (ENDLESS, {"max_pages": 30}, 25, 25, 25, "These are the 25 that were wanted."),
        (AWAY, {}, 21, 1, 10, "on to another host"),
    ],
)
async def test_a_run_follows_next_until_the_wanted_results_are_there_or_the_listing_ends(
    curtsy: Engine,
    pages: dict[str, bytes],
    said: dict[str, Any],
    wanted: int,
    asked: int,
    records: int,
    end: str,
) -> None:
    recipe = RECIPE | {"next": "a.next"}
    defaults = {"results_wanted": wanted}
    extract = ExtractLimits(processes=1, seconds=20)
    async with PageServer(pages) as server:
        spec = SiteSpec.model_validate(
            {"search_url": server.url("/"), "recipe": recipe, "defaults": defaults} | said
        )
        site = await curtsy.store.write(
            lambda c: put_site(c, "mine", spec, described_as=None, now=1)
        )
        async with curtsy.worker(settings(FAST, extract=extract)):
            job = (await curtsy.submitter.submit(run_request(site, {}))).job
            ended = await curtsy.ended(job, 60)
    await curtsy.store.write(lambda c: gather_next(c, "mine", now=curtsy.clock.now()))
    told = (await curtsy.query("SELECT message FROM jobs"))[0].message
    assert (ended.state, len(server.asked)) == ("succeeded", asked)
    assert told.startswith(f"{records} records: {records} new, 0 changed, 0 same, 0 removed. ")
    assert end in told


async def test_where_counted_pages_are_missing_the_listing_ends(curtsy: Engine) -> None:
    pages = {"search_url": "/?p={page}", "recipe": RECIPE}
    ended, found = await scraped(curtsy, ["/?p=1"], **pages)
    assert (ended.state, ended.done, ended.failed) == ("succeeded", 4, 0)
    assert found == [f"/?p={n}" for n in range(1, 5)]
    told = "".join(event.data for event in await curtsy.events(ended.public_id))
    assert told.count("the listing ended on an earlier page") == 3


async def test_a_listing_whose_first_page_is_missing_is_none(curtsy: Engine) -> None:
    few = {"results_wanted": 20}
    ended, _found = await scraped(curtsy, [], search_url="/?p={page}", recipe=RECIPE, defaults=few)
    assert (ended.state, ended.done, ended.failed) == ("failed", 1, 1)
    kinds = [item.kind for item in await curtsy.items(ended.public_id)]
    assert kinds[0] == "gone"
