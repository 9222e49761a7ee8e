"""The crawl door: spiders that follow links, and the same crawl asked for twice."""

import asyncio
from typing import Any

import orjson
import pytest

from api.conftest import Site
from api.front import Answer, Front, assert_problem
from curtsy.model.roles import OPEN
from curtsy.requests.crawl import CrawlRequest, job_request
from support.engine import until

HTML = "text/html; charset=utf-8"


def page(*links: str) -> bytes:
    anchors = "".join(f'<a href="{link}">to {link}</a>' for link in links)
    return (
        f"<html><head><title>A page</title></head><body><article>{'<p>Some words. </p>' * 20}"
        f"</article>{anchors}</body></html>"
    ).encode()


def web_of(site: Site, pages: dict[str, tuple[str, ...]]) -> str:
    for path, links in pages.items():
        site.has(path, page(*links), HTML)
    return site.url


async def crawl(door: Front, *urls: str, **more: Any) -> Answer:
    query = "?ignore_cache=true" if more.pop("anew", False) else ""
    body = {"spider": "raw", "start_urls": list(urls)} | more
    return await door.ask("POST", f"/crawl{query}", json=body)


async def crawled(door: Front, *urls: str, **more: Any) -> dict[str, int]:
    """The paths of the pages that it came to, with their depth."""
    answer = await crawl(door, *urls, **more)
    assert answer.status == 200, answer
    job = answer.json["job_id"]
    await door.engine.ended(job)
    assert await door.engine.query("SELECT * FROM links") == []
    return {
        "/" + item.page_url.split("/", 3)[3]: item.depth for item in await door.engine.items(job)
    }


async def test_spellings_of_one_page_are_fetched_once(working: Front, site: Site) -> None:
    start = ("/%7euser", "/%7Euser", "/~user", "/p/%73ame", "\\p\\same", "/p/sa\nme", "/q?%7e")
    url = web_of(site, {"/": start, "/~user": (), "/p/same": (), "/q": ("/q?~",)})
    found = await crawled(working, f"{url}/", depth=3)
    assert found == {"/": 0, "/~user": 1, "/p/same": 1, "/q?~": 1}
    assert sorted(site.asked) == ["/", "/p/same", "/q?~", "/~user"]


async def test_the_answer_is_that_of_the_document(door: Front) -> None:
    answer = await crawl(door, "http://a.example/", user_id="abc123")
    job = answer.json["job_id"]
    assert answer.status == 200
    assert answer.json == {
        "job_id": job, "scheduled": False, "cached": False, "cached_at": None,
        "logs_url": f"/jobs/{job}/logs", "status_url": f"/jobs/{job}/status",
    }  # fmt: skip
    status = (await door.get(f"/jobs/{job}/status")).json
    assert (status["status"], status["spider_job_id"], status["door"]) == ("pending", job, "crawl")
    assert status["user_id"] == "abc123"


@pytest.mark.parametrize("spider", ["raw", "article"])
async def test_links_are_followed_to_the_depth_and_no_page_twice(
    working: Front, site: Site, spider: str
) -> None:
    start = web_of(site, {
        "/": ("/a", "/b", "/#part", "b", "mailto:x@example.com", "javascript:void(0)"),
        "/a": ("/", "/c", "/b"), "/b": ("/a", "/c?y=2&x=1", "/c?x=1&y=2"), "/c": ("/d",),
        "/d": (),
    })  # fmt: skip
    assert await crawled(working, start + "/", spider=spider, depth=2) == {
        "/": 0, "/a": 1, "/b": 1, "/c": 2, "/c?x=1&y=2": 2,
    }  # fmt: skip
    assert sorted(site.asked) == ["/", "/a", "/b", "/c", "/c?x=1&y=2"]


async def test_without_depth_only_the_start_pages_are_fetched(working: Front, site: Site) -> None:
    start = web_of(site, {"/": ("/a",), "/a": ()})
    assert await crawled(working, start + "/") == {"/": 0}


async def test_max_pages_is_exact(working: Front, site: Site) -> None:
    pages = {f"/{n}": tuple(f"/{m}" for m in range(40)) for n in range(40)}
    start = web_of(site, pages)
    found = await crawled(working, start + "/0", depth=5, params={"max_pages": 17})
    assert len(found) == 17
    assert len(site.asked) == 17


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({"scope": "page"}, {"/blog/1"}),
        ({"scope": "prefix"}, {"/blog/1", "/blog/2", "/blog/old/3"}),
        ({"scope": "host"}, {"/blog/1", "/blog/2", "/blog/old/3", "/shop"}),
        ({"include": ["*/blog/*"]}, {"/blog/1", "/blog/2", "/blog/old/3"}),
        ({"exclude": ["*/old/*", "*/shop"]}, {"/blog/1", "/blog/2"}),
    ],
)
async def test_a_crawl_stays_within_its_scope(
    working: Front, site: Site, params: dict[str, Any], expected: set[str]
) -> None:
    elsewhere = site.url.replace("127.0.0.1", "127.0.0.2")
    start = web_of(site, {
        "/blog/1": ("/blog/2", "/blog/old/3", "/shop", elsewhere + "/blog/9"),
        "/blog/2": (), "/blog/old/3": (), "/shop": (),
    })  # fmt: skip
    assert set(await crawled(working, f"{start}/blog/1", depth=1, params=params)) == expected


async def test_a_page_that_another_job_waits_for_already_still_leads_on(
    working: Front, site: Site
) -> None:
    """It was taken before anybody wanted to know where it leads."""
    start = web_of(site, {"/": ("/a",), "/a": ()})
    other = (await working.submit(start + "/")).json["id"]
    assert await crawled(working, start + "/", depth=1) == {"/": 0, "/a": 1}
    assert (await working.engine.ended(other)).state == "succeeded"


async def test_what_is_in_the_store_is_fetched_again_where_it_leads_on(
    working: Front, site: Site
) -> None:
    start = web_of(site, {"/": ("/a", "/b"), "/a": (), "/b": ()})
    assert len(await crawled(working, start + "/", depth=1)) == 3
    found = await crawled(working, start + "/", depth=1, params={"max_pages": 50})
    assert len(found) == 3
    assert sorted(site.asked) == ["/", "/", "/a", "/b"]


async def test_the_same_crawl_is_the_same_job(door: Front) -> None:
    first = await crawl(door, "http://a.example/", "http://b.example/x?b=2&a=1", user_id="u")
    again = await crawl(door, "http://B.example:80/x?a=1&b=2", "http://a.example", user_id="u")
    assert again.json["job_id"] == first.json["job_id"]
    assert again.json["cached"]
    assert again.json["cached_at"]
    for other in ({"user_id": "v"}, {"user_id": "u", "depth": 1}, {"user_id": "u", "anew": True}):
        different = await crawl(door, "http://a.example/", "http://b.example/x?b=2&a=1", **other)
        assert different.json["job_id"] != first.json["job_id"]
        assert not different.json["cached"]


async def test_one_started_anew_is_the_one_that_is_found_from_then_on(door: Front) -> None:
    await crawl(door, "http://a.example/")
    anew = await crawl(door, "http://a.example/", ignore_cache=True)
    assert (await crawl(door, "http://a.example/")).json["job_id"] == anew.json["job_id"]


async def test_a_failed_or_cancelled_crawl_is_not_found_again(door: Front) -> None:
    first = (await crawl(door, "http://a.example/")).json["job_id"]
    await door.delete(f"/jobs/{first}")
    second = await crawl(door, "http://a.example/")
    assert (second.json["cached"], second.json["job_id"] == first) == (False, False)


async def test_five_hundred_at_once_are_one_job(door: Front) -> None:
    answers = await asyncio.gather(*(crawl(door, "http://a.example/", depth=1) for _ in range(500)))
    assert {answer.status for answer in answers} == {200}
    assert len({answer.json["job_id"] for answer in answers}) == 1
    assert sum(not answer.json["cached"] for answer in answers) == 1
    assert len(await door.engine.query("SELECT * FROM jobs")) == 1


async def asked_in_the_end(working: Front, site: Site) -> int:
    """How many pages, when the source was given back; none comes after that."""

    async def given_back() -> bool:
        return not await working.engine.query("SELECT id FROM sources WHERE owner IS NOT NULL")

    await until(given_back, 30, lambda: "the source is still held")
    asked = len(site.asked)
    await asyncio.sleep(0.5)  # time in which several would
    assert len(site.asked) == asked
    return asked


async def test_a_crawl_that_is_cancelled_follows_nothing_more(working: Front, site: Site) -> None:
    start = web_of(site, {f"/{n}": tuple(f"/{m}" for m in range(n, n + 9)) for n in range(800)})
    job = (await crawl(working, f"{start}/0", depth=100)).json["job_id"]
    while (await working.engine.job(job)).done < 2:
        await asyncio.sleep(0.02)
    assert (await working.delete(f"/jobs/{job}")).status == 200
    row = await working.engine.ended(job)
    assert row.state == "cancelled"
    assert await asked_in_the_end(working, site) < 600
    assert await working.engine.query("SELECT * FROM links") == []


async def test_a_paused_crawl_waits_with_what_it_found(working: Front, site: Site) -> None:
    start = web_of(site, {f"/{n}": tuple(f"/{m}" for m in range(n, min(300, n + 40)))
                          for n in range(300)})  # fmt: skip
    job = (await crawl(working, f"{start}/0", depth=9)).json["job_id"]
    while (await working.engine.job(job)).done < 3:
        await asyncio.sleep(0.02)
    await working.ask("POST", f"/jobs/{job}/pause")
    assert await asked_in_the_end(working, site) < 300
    await working.ask("POST", f"/jobs/{job}/resume")
    row = await working.engine.ended(job)
    assert (row.state, row.total, row.done) == ("succeeded", 300, 300)


async def test_failures_tried_again_lead_on(working: Front, site: Site) -> None:
    start = web_of(site, {"/": ("/a",), "/b": ()})
    site.fails("/a", 410)
    job = (await crawl(working, start + "/", depth=2)).json["job_id"]
    assert (await working.engine.ended(job)).failed == 1
    site.has("/a", page("/b"), HTML)
    await working.ask("POST", f"/jobs/{job}/retry")
    row = await working.engine.ended(job)
    assert (row.state, row.total, row.failed) == ("succeeded", 3, 0)


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"spider": "magic"}, 422), ({"depth": -1}, 422), ({"params": {"scope": "galaxy"}}, 422),
        ({"params": {"colour": "red"}}, 422), ({"start_urls": []}, 422),
        ({"start_urls": ["http://a.example/", "http://b.example/"],
          "params": {"max_pages": 1}}, 422),
        ({"start_urls": ["ftp://a.example/"]}, 422), ({"start_urls": ["http://10.0.0.1/"]}, 422),
        ({"schedule_at": "2020-01-01T00:00:00Z"}, 422), ({"interval": "0 0 30 2 *"}, 422),
        ({"schedule_at": "tomorrow"}, 422), ({"schedule_at": "2030-01-01T00:00:00"}, 422),
        ({"interval": "0 9 * * *", "timezone": "Mars/Olympus"}, 422),
        ({"interval": "* * * * * *"}, 422), ({"cron": "@sometimes"}, 422),
        ({"timezone": "Europe/Berlin"}, 422),
        ({"spider": "seo"}, 501), ({"spider": "bots/seo"}, 501),
    ],
)  # fmt: skip
async def test_what_cannot_be_crawled_is_refused(
    plain_door: Front, fields: dict[str, Any], status: int
) -> None:
    answer = await plain_door.ask(
        "POST", "/crawl", json={"spider": "raw", "start_urls": ["http://a.example/"]} | fields
    )
    assert answer.status == status, answer
    assert_problem(answer, status, answer.json["code"])
    assert await plain_door.engine.query("SELECT * FROM jobs") == []


def test_params_that_are_no_option_are_arguments_of_the_spider() -> None:
    body = CrawlRequest.model_validate(
        {"spider": "mine", "start_urls": ["http://a.example/"],
         "params": {"foo": "bar", "max_pages": 5, "args": {"x": [1]}}}
    )  # fmt: skip
    request = job_request(body, key=None, caller=OPEN, fresh=False, cache_ttl=0, now=0)
    assert request.scraper_params == {"foo": "bar", "x": [1]}
    assert request.crawl is not None
    assert request.crawl.max_pages == 5
    assert orjson.loads(request.crawl.scope)["params"] == {"foo": "bar", "x": [1]}
    assert orjson.loads(request.params)["foo"] == "bar", "it can be read back"


@pytest.mark.parametrize(
    ("spider", "params", "sentence"),
    [
        ("raw", {"foo": "bar"}, "'raw' takes no parameters: not 'foo'"),
        ("listing", {"foo": "bar", "recipe": {"record": "li", "fields": {"a": "b"}}},
         "takes a recipe, but not 'foo'"),
        ("raw", {"max_page": 3}, "did you mean 'max_pages'?"),
        ("raw", {"foo": 1, "args": {"foo": 2}}, "'foo' stands both in params and in params.args"),
        ("listing", {"recipe": {"record": "li"}, "args": {"recipe": {}}}, "'recipe' stands both"),
        ("raw", {"foo": "x" * 40_000}, "at most 32768"),
    ],
)  # fmt: skip
async def test_arguments_that_nobody_takes_or_that_clash_are_refused(
    plain_door: Front, spider: str, params: dict[str, Any], sentence: str
) -> None:
    body = {"spider": spider, "start_urls": ["http://a.example/"], "params": params}
    refused = await plain_door.ask("POST", "/crawl", json=body)
    assert refused.status == 422
    assert sentence in refused.json["detail"]


async def test_a_crawl_can_be_answered_with_its_log(working: Front, site: Site) -> None:
    start = web_of(site, {"/": ("/a",), "/a": ()})
    body = {"spider": "raw", "start_urls": [start], "depth": 1}
    async with working.session.post(
        f"{working.url}/crawl", json=body, headers={"Accept": "text/event-stream"}
    ) as response:
        assert (response.status, response.content_type) == (200, "text/event-stream")
        text = (await response.read()).decode()
    events = [event for event in text.split("\n\n") if "event: " in event]
    assert "event: job" in events[0]
    job = orjson.loads(events[0].partition("data: ")[2])["job_id"]
    assert all("event: log" in event for event in events[1:-1])
    assert "event: end" in events[-1]
    assert '"status":"finished"' in events[-1]
    async with working.session.get(f"{working.url}/jobs/{job}/logs") as response:
        whole = (await response.read()).decode()
    assert [event for event in whole.split("\n\n") if "event: " in event] == events[1:]


async def test_a_crawl_for_later_is_answered_as_ever(plain_door: Front) -> None:
    body = {"spider": "raw", "start_urls": ["http://a.example/"], "interval": "@daily"}
    headers = {"Accept": "text/event-stream"}
    assert (await plain_door.ask("POST", "/crawl", json=body, headers=headers)).status == 202
