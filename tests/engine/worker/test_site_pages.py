"""Pages of sites through the whole worker: where they lead, and where a listing ends."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from curtsy.extract import ExtractLimits
from curtsy.extract.inspection import inspect_scrapers
from curtsy.frontier.crawls import Crawl
from curtsy.jobs import JobRequest, PageRequest
from curtsy.model.scope import scope_around
from curtsy.model.urls import canonical
from curtsy.politeness.policy import Policy
from curtsy.scrapers import NAMES
from curtsy.scrapers.registry import OwnScrapers
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
