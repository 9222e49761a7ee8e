"""A repeated idempotency key comes with the same body, so the hash of a body must not change from
one version to the next. The hashes here are those that commit 169019b made."""

from typing import Any

import pytest

from curtsy.model.roles import OPEN
from curtsy.requests import articles, crawl, fetch

NOW = 1_700_000_000_000
URL = "https://a.example/"
CRAWL = {"spider": "article", "start_urls": [URL]}
FULL_CRAWL = {
    **CRAWL, "depth": 2, "interval": "@daily", "name": "n",
    "params": {"scope": "domain", "include": ["*/x"], "max_pages": 9, "mine": 1},
}  # fmt: skip


def fetch_hash(**body: Any) -> str:
    given = fetch.FetchRequest.model_validate({"url": URL, **body})
    return fetch.job_request(given, None, OPEN).request_hash


def articles_hash(*pages: dict[str, Any], **body: Any) -> str:
    given = articles.ArticlesRequest.model_validate({"articles": [*pages], **body})
    request = articles.job_request(given, key=None, page_max_age=0, caller=OPEN, now=NOW)
    return request.request_hash


def crawl_hashes(body: dict[str, Any], **params: Any) -> tuple[str, str]:
    """Of the whole body, and of what the crawl does."""
    whole = {**body, "params": {**body.get("params", {}), **params}}
    given = crawl.CrawlRequest.model_validate(whole)
    request = crawl.job_request(given, key=None, caller=OPEN, fresh=False, cache_ttl=0, now=NOW)
    assert request.same_as is not None
    return request.request_hash, request.same_as.key


def test_of_fetch() -> None:
    assert fetch_hash() == "0302db23f2d4bc253c438cb31147ed69"
    more = fetch_hash(max_age=60, priority=2, webhook_url="https://w.example/")
    assert more == "221514b2babe64167e762c78397ed8d8"


def test_of_articles() -> None:
    assert articles_hash({"url": URL}) == "cf28b4c27653fa4cba5e9ef9dde48af6"
    page = {"url": URL, "source": "s", "priority": 2}
    more = articles_hash(page, max_age=60, name="n", tags=["t"], headers={"X-A": "b"})
    assert more == "95f67d6a518952d9b4102d0ec10de1e4"


def test_of_crawls() -> None:
    assert crawl_hashes(CRAWL) == (
        "10687cfea12d6a1e4f798e442b621234", "crawl:a4bb52ecb712059d151c04c79e19110f",
    )  # fmt: skip
    assert crawl_hashes(FULL_CRAWL) == (
        "517b7d22bfe2b607a5004ba1ef9e55e3", "crawl:50416ab3e6dd3cfa1d81a548fad52359",
    )  # fmt: skip


@pytest.mark.parametrize(
    "params", [{"keep": ["*/a"]}, {"follow": ["*/a"]}, {"rules": [{"keep": False}]},
               {"session": True}],
    ids=lambda params: next(iter(params)),
)  # fmt: skip
def test_newer_fields_count_where_they_are_used(params: dict[str, Any]) -> None:
    plain, used = crawl_hashes(CRAWL), crawl_hashes(CRAWL, **params)
    assert plain[0] != used[0]
    assert plain[1] != used[1]
    assert fetch_hash() != fetch_hash(session=True)
    assert articles_hash({"url": URL}) != articles_hash({"url": URL}, new_only=True)
