"""The job behind `client.scrape`: it belongs to the call, and ends with it."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from contextlib import aclosing, suppress
from datetime import UTC, datetime, timedelta
from typing import Any

from curtsy.client.answer import read
from curtsy.client.answers import ArticlesCreated, CrawlCreated
from curtsy.client.http import ApiConnection, Declined, Unanswered
from curtsy.client.job_handle import AsyncJob
from curtsy.client.request_bodies import PageBody, articles, crawl, different
from curtsy.client.results import PageResult
from curtsy.client.statuses import Status

ARTICLE = "article"


async def start_scrape(
    api: ApiConnection, pages: PageBody | Iterable[PageBody], scraper: str, max_age: int | None,
    params: Mapping[str, object] | None,
) -> AsyncJob:  # fmt: skip
    """Submits the pages as articles, or for another scraper as a crawl that follows no links."""
    if scraper == ARTICLE and not params:
        body = articles(pages, {} if max_age is None else {"max_age": max_age})
        body["articles"] = different(body["articles"])
        created = read(ArticlesCreated, await api.request("POST", "/jobs/submit", body=body))
        return AsyncJob(api, created.job_id)
    urls = [_url_of(page, scraper) for page in different(articles(pages, {})["articles"])]
    more: dict[str, object] = {
        "args": dict(params or {}), "ignore_cache": max_age == 0, "max_pages": max(len(urls), 1),
    }  # fmt: skip
    if max_age is not None:
        more["max_age"] = max_age
    started = await _crawl(api, urls, scraper, more)
    if max_age is not None and _is_older(started, max_age):
        started = await _crawl(api, urls, scraper, more | {"ignore_cache": True})
    return AsyncJob(api, started.job_id)


def _url_of(page: Mapping[str, Any], scraper: str) -> str:
    """A crawl starts from URLs; what a page has beside its URL would be lost."""
    if beside := sorted(page.keys() - {"url"}):
        raise TypeError(
            f"A page for the scraper {scraper!r} is a URL alone here: {', '.join(beside)} would be "
            "lost. submit takes articles, and fetch raw pages, with a body."
        )
    url: str = page["url"]
    return url


async def _crawl(
    api: ApiConnection, urls: list[str], scraper: str, more: Mapping[str, object]
) -> CrawlCreated:
    body = crawl(urls, spider=scraper, depth=0, more=more)
    return read(CrawlCreated, await api.request("POST", "/crawl", body=body))


def _is_older(crawl: CrawlCreated, max_age: int) -> bool:
    """Whether the API returned an earlier crawl that is older than the caller allows."""
    limit = datetime.now(UTC) - timedelta(seconds=max_age)
    return crawl.cached_at is not None and crawl.cached_at < limit


async def scraped(
    job: AsyncJob, timeout: float | None, leave: Callable[[AsyncJob], Awaitable[None]]
) -> AsyncGenerator[PageResult]:
    """Yields the results of the job; calls `leave` if the caller leaves before its end."""
    state: list[Status] = []

    async def statuses() -> AsyncGenerator[Status]:
        async with aclosing(job.poll(timeout)) as polled:
            async for status in polled:
                state[:] = [status]
                yield status

    stream = job.result_stream(timeout)
    try:
        async with aclosing(statuses()) as polled, aclosing(stream.during(polled)) as results:
            async for result in results:
                yield result
    finally:
        if not (state and state[-1].is_over):
            with suppress(Declined, Unanswered):  # it has ended in the meantime
                await leave(job)
