"""Listings through the whole worker: the recipe goes with every page, also with followed ones."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest
import zstandard

from curtsy.errors import BadRequest
from curtsy.extract import ExtractLimits
from curtsy.extract.inspection import inspect_scrapers
from curtsy.frontier.crawls.leads import Crawl
from curtsy.jobs import JobRequest, PageRequest
from curtsy.model.options import params_of
from curtsy.model.origins import origin_of
from curtsy.model.scope import scope_around
from curtsy.model.urls import canonical
from curtsy.politeness.policy import Policy
from curtsy.scrapers import NAMES
from support.engine import Engine, settings
from support.pages import PageServer

FAST = Policy(min_delay=0, concurrency=8, retry_base=20, retry_cap=40)
RECIPE = {"record": "li", "list": "ul", "next": "a.next", "fields": {"name": "a", "n": "b"}}


def page(*names: str, following: str = "") -> bytes:
    items = "".join(f"<li><a href=/detail/{name}>{name}</a>" for name in names)
    return f"<ul>{items}</ul><a class=next href='{following}'>next</a>".encode()


def crawl_of(start: str, params: dict[str, Any]) -> JobRequest:
    scope = scope_around([(start, canonical(start).host)], "host").to_json()
    terms = {"scope": scope, "max_age": 0, "headers": [["X-A", "1"]],
             "origins": [origin_of(start)], "params": params}  # fmt: skip
    crawl = Crawl(depth=9, max_pages=50, priority=5, scope=orjson.dumps(terms).decode())
    return JobRequest(
        "crawl", [PageRequest(start)], scraper="listing", crawl=crawl, scraper_params=params,
        headers=(("X-A", "1"),),
    )  # fmt: skip


async def test_a_crawl_of_a_listing_takes_its_recipe_along_to_the_next_pages(
    curtsy: Engine,
) -> None:
    served = PageServer({
        "/1": page("a", "b", "a", following="/2"),
        "/2": page("c", following="3"),
        "/3": page(),
    })  # fmt: skip
    extract = ExtractLimits(processes=1, seconds=10)
    async with served as server, curtsy.worker(settings(FAST, extract=extract)):
        params = {"recipe": RECIPE}
        request = crawl_of(server.url("/1"), params)
        job = (await curtsy.submitter.submit(request)).job
        ended = await curtsy.ended(job)
    assert (ended.state, ended.done, ended.failed) == ("succeeded", 3, 0)
    assert sorted(server.asked) == ["/1", "/2", "/3"], "only the next pages were followed"
    pages = await curtsy.query("SELECT url, options FROM pages")
    assert all(params_of(row.options) == params for row in pages)
    assert len({row.options for row in pages}) == 1, "one spelling, at the start and when followed"
    found = [orjson.loads(zstandard.decompress(row.content))
             for row in await curtsy.query("SELECT content FROM documents")]  # fmt: skip
    names = sorted(record["fields"]["name"] for one in found for record in one["records"])
    assert names == ["a", "b", "c"]
    assert [one["empty"] for one in found].count(True) == 1
    told = "".join(event.data for event in await curtsy.events(job))
    assert "have the key of an earlier one" in told


async def test_a_page_that_breaks_its_recipe_fails_and_says_how(curtsy: Engine) -> None:
    served = PageServer({"/1": b"<p>Are you human?</p>"})
    extract = ExtractLimits(processes=1, seconds=10)
    async with served as server, curtsy.worker(settings(FAST, extract=extract)):
        params = {"recipe": RECIPE}
        job = await curtsy.submit(server.url("/1"), scraper="listing", scraper_params=params)
        await curtsy.ended(job)
    [item] = await curtsy.items(job)
    assert item.kind == "extract_failed"
    [attempt] = await curtsy.query("SELECT error FROM attempts")
    assert "Nothing on the page matches record ('li')" in attempt.error


@pytest.mark.parametrize(
    ("scraper", "params", "word"),
    [
        ("listing", {}, "no record"),
        ("listing", {"recipe": {"record": "li", "fields": {"a": "p["}}}, "fields.a.css"),
        ("article", {"recipe": RECIPE}, "takes no parameters"),
        ("listing", {"recipe": RECIPE, "more": b"x"}, "not JSON"),
    ],
)
async def test_params_that_cannot_work_are_refused_at_the_door(
    curtsy: Engine, scraper: str, params: dict[str, Any], word: str
) -> None:
    with pytest.raises(BadRequest, match=word):
        await curtsy.submit("http://a.example/", scraper=scraper, scraper_params=params)


OWN = """
from curtsy.scrapers import Found, scraper

@scraper
def mine(page):
    page.log(f"in {page.params['city']}")
    return Found(records=[{"url": page.url}], links=["/2"])
"""


async def test_a_scraper_of_your_own_works_for_whoever_was_told_of_it(
    curtsy: Engine, tmp_path: Path
) -> None:
    file = tmp_path / "mine.py"
    file.write_text(OWN)
    own = inspect_scrapers([str(file)])
    with pytest.raises(BadRequest, match="no scraper 'mine'"):
        await curtsy.submit("http://a.example/", scraper="mine")
    curtsy.submitter.limits = replace(curtsy.submitter.limits, scrapers=NAMES | own.names)
    served = PageServer({"/1": b"x", "/2": b"y"})
    extract = ExtractLimits(processes=1, seconds=10)
    async with served as server:
        async with curtsy.worker(settings(FAST, extract=extract, own=own)):
            request = replace(crawl_of(server.url("/1"), {"city": "Oslo"}), scraper="mine")
            job = (await curtsy.submitter.submit(request)).job
            ended = await curtsy.ended(job)
        assert (ended.state, ended.done) == ("succeeded", 2)
        assert "in Oslo" in "".join(event.data for event in await curtsy.events(job))
        async with curtsy.worker(settings(FAST, extract=extract)):
            params = {"city": "Bergen"}
            job = await curtsy.submit(server.url("/1"), scraper="mine", scraper_params=params)
            await curtsy.ended(job)
    [item] = await curtsy.items(job)
    assert (item.kind, item.error) == (
        "not_supported", "This worker has no scraper named mine.",
    )  # fmt: skip
