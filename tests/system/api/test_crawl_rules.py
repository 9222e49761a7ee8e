"""Crawl rules through the API: what is a result, what only leads on, and by which scraper."""

from typing import Any

import pytest

from api.conftest import Site
from api.front import Front
from api.test_crawl import crawl, crawled, web_of
from curtsy.model.page_use import PageUse

SHOP = {
    "/": ("/list/1", "/about"), "/about": ("/secret",), "/list/1": ("/p/1", "/p/2", "/list/2"),
    "/list/2": ("/p/2", "/p/3"), "/p/1": ("/list/1", "/more"), "/p/2": (), "/p/3": (),
    "/more": (), "/secret": (),
}  # fmt: skip


async def results(door: Front, job: str) -> list[str]:
    body = (await door.get(f"/jobs/{job}/results")).json
    return sorted("/" + one["url"].split("/", 3)[3] for one in body["results"])


async def kept(door: Front, url: str, **more: Any) -> tuple[list[str], set[str]]:
    """The results, and the pages that were fetched."""
    found = await crawled(door, url, **more)
    [job] = await door.engine.query("SELECT public_id FROM jobs")
    return await results(door, job.public_id), set(found)


async def test_listing_pages_lead_on_and_are_no_results(working: Front, site: Site) -> None:
    start = web_of(site, SHOP)
    params = {"keep": ["*/p/*"], "follow": ["*/list/*", "*/"]}
    found, fetched = await kept(working, f"{start}/", depth=5, params=params)
    assert found == ["/p/1", "/p/2", "/p/3"]
    assert fetched == {"/", "/about", "/list/1", "/list/2", "/p/1", "/p/2", "/p/3"}, (
        "neither /secret nor /more: their pages are not followed"
    )


async def test_a_rule_names_the_scraper_and_what_becomes_of_its_pages(
    working: Front, site: Site
) -> None:
    start = web_of(site, SHOP)
    rules = [
        {"match": "*/p/*", "scraper": "article", "follow": False},
        {"min_depth": 0, "max_depth": 3, "keep": False},
    ]
    found, fetched = await kept(working, f"{start}/", depth=5, params={"rules": rules})
    assert found == ["/p/1", "/p/2", "/p/3"]
    assert "/more" not in fetched
    pages = await working.engine.query("SELECT url, scraper FROM pages")
    assert {row.scraper for row in pages if "/p/" in row.url} == {"article"}
    assert {row.scraper for row in pages if "/p/" not in row.url} == {"raw"}


async def test_a_failed_page_is_told_even_if_it_would_be_no_result(
    working: Front, site: Site
) -> None:
    start = web_of(site, {"/": ("/a", "/b"), "/b": ()})
    site.fails("/a", 410)
    answer = await crawl(working, f"{start}/", depth=1, params={"keep": ["*/b"]})
    job = answer.json["job_id"]
    await working.engine.ended(job)
    body = (await working.get(f"/jobs/{job}/results")).json
    assert [one["url"] for one in body["results"]] == [f"{start}/b"]
    assert [one["url"] for one in body["failed_articles"]] == [f"{start}/a"]
    assert (body["successful"], body["failed"]) == (2, 1), "it counts the pages that were fetched"


async def test_a_page_that_is_not_followed_may_come_from_the_store(
    working: Front, site: Site
) -> None:
    start = web_of(site, {"/": ("/a",), "/a": ("/b",), "/b": ()})
    await crawled(working, f"{start}/a")
    params = {"rules": [{"match": "*/a", "follow": False}]}
    answer = await crawl(working, f"{start}/", depth=3, params=params)
    assert (await working.engine.ended(answer.json["job_id"])).total == 2
    assert site.asked.count("/a") == 1


async def test_failures_tried_again_lead_on_only_where_they_are_followed(
    working: Front, site: Site
) -> None:
    start = web_of(site, {"/": ("/a", "/b"), "/c": ()})
    site.fails("/a", 410)
    site.fails("/b", 410)
    params = {"rules": [{"match": "*/b", "follow": False}]}
    job = (await crawl(working, f"{start}/", depth=2, params=params)).json["job_id"]
    await working.engine.ended(job)
    web_of(site, {"/a": ("/c",), "/b": ("/d",), "/d": ()})
    await working.ask("POST", f"/jobs/{job}/retry")
    row = await working.engine.ended(job)
    assert (row.state, row.total) == ("succeeded", 4)
    uses = {item.page_url.rpartition("/")[2]: item.uses for item in await working.engine.items(job)}
    assert uses == {"": 3, "a": 3, "b": PageUse.KEPT, "c": 3}


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({"params": {"rules": [{"scraper": "magic"}]}}, "There is no scraper 'magic'"),
        ({"params": {"rules": [{"scraper": "listing"}]}}, "no record"),
        ({"params": {"rules": [{"scraper": "article", "params": {"a": 1}}]}}, "no parameters"),
        ({"params": {"rules": [{"matches": "*"}]}}, "rules.0.matches"),
        ({"params": {"rules": [{"min_depth": 2, "max_depth": 1}]}}, "no page can match"),
        ({"params": {"rules": [{"params": {"a": "x" * 5_000}}]}}, "at most 4096"),
        ({"params": {"rules": [{}] * 51}}, "rules"),
        ({"params": {"keep": [""]}}, "keep"),
        ({"start": {}}, "start needs a feed or a sitemap"),
        ({"start": {"feed": "ftp://a.example/"}}, "ftp"),
        ({"start": {"feed": "http://10.0.0.1/"}}, "10.0.0.1"),
        ({"start": {"feed": "http://a.example/", "scope": "page"}}, "host, domain or any"),
        ({"start": {"feed": "http://a.example/", "rss": True}}, "start.rss"),
        ({"start": {"sitemap": ["http://a.example/s"] * 1_001}}, "sitemap"),
        ({}, "a crawl needs start_urls, or start with a feed or a sitemap"),
    ],
)  # fmt: skip
async def test_rules_and_starts_that_cannot_work_are_refused(
    plain_door: Front, body: dict[str, Any], sentence: str
) -> None:
    whole = {"spider": "raw"} | ({"start_urls": ["http://a.example/"]} if "params" in body else {})
    answer = await plain_door.ask("POST", "/crawl", json=whole | body)
    assert answer.status == 422
    assert sentence in str(answer.json)
    assert await plain_door.engine.query("SELECT * FROM jobs") == []
