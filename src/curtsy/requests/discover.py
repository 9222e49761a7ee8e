"""The request body of discovery, and the job request that it becomes: a crawl that reads only feeds
and sitemaps, and keeps a summary of each."""

from collections.abc import Iterator
from urllib.parse import urlsplit

import orjson
from pydantic import BaseModel, ConfigDict, Field

from curtsy.frontier.crawls.leads import Crawl
from curtsy.jobs import JobRequest, PageRequest
from curtsy.model.options import Way
from curtsy.model.origins import origin_of
from curtsy.model.page_use import ONLY_LISTS
from curtsy.model.roles import Caller
from curtsy.model.scope import scope_around
from curtsy.model.urls import BadUrl, Url, canonical
from curtsy.requests import examples
from curtsy.requests.crawl_start import entry_terms
from curtsy.scrapers import SUMMARY

DOOR = "crawl"
MOST_LISTS = 200
_GUESSED = ("/robots.txt", "/sitemap.xml")
_WAYS = (Way.MAY_BE_MISSING,)


class DiscoverRequest(BaseModel):
    model_config = ConfigDict(
        extra="forbid", strict=True, json_schema_extra=examples.shown(examples.DISCOVER_REQUEST)
    )

    url: str = Field(max_length=8_000)
    """A page of the site, such as its front page; or a feed or a sitemap."""
    max_lists: int = Field(MOST_LISTS, ge=1, le=1_000)
    """Feeds and sitemaps that are read at most."""
    priority: int = Field(5, ge=1, le=10)


def job_request(body: DiscoverRequest, caller: Caller) -> JobRequest:
    pages = list(_pages(body))
    return JobRequest(
        door=DOOR,
        pages=pages,
        scraper="feed",
        scraper_params=SUMMARY,
        user_id=caller.user_id,
        key_id=caller.key_id,
        name=f"discover {urlsplit(body.url).hostname or ''}"[:300].strip(),
        params=orjson.dumps({"discover": body.url, "max_lists": body.max_lists}).decode(),
        crawl=_crawl(body, len(pages)),
    )


def _pages(body: DiscoverRequest) -> Iterator[PageRequest]:
    """The page itself, and where sites usually name their sitemaps."""
    url = _canonical(body.url)
    guessed = [] if url is None else [f"{origin_of(url.text)}{path}" for path in _GUESSED]
    if url is None or url.text not in guessed:  # a bad URL is reported when it is submitted
        yield PageRequest(body.url, body.priority, ways=_WAYS, scraper="feed",
                          params=SUMMARY, uses=ONLY_LISTS)  # fmt: skip
    for one in guessed:
        yield PageRequest(one, body.priority, ways=_WAYS, scraper="sitemap", params=SUMMARY,
                          uses=ONLY_LISTS)  # fmt: skip


def _crawl(body: DiscoverRequest, starts: int) -> Crawl:
    url = _canonical(body.url)
    nowhere = scope_around([], "page")
    terms = {
        "scope": nowhere.to_json(), "max_age": 0, "headers": [], "ways": _WAYS,
        "start": entry_terms([url] if url else [], "any", new_only=False, fetched=False),
    }  # fmt: skip
    stored = orjson.dumps(terms).decode()
    return Crawl(0, starts + body.max_lists, body.priority, stored, remembers=False)


def _canonical(text: str) -> Url | None:
    try:
        return canonical(text)
    except BadUrl:
        return None
