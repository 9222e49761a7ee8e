"""The client for programs that run an event loop."""

import os
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Literal, Self

import httpx

from curtsy.client.job import AsyncJob
from curtsy.client.talk import Talk

DEFAULT_URL = "http://127.0.0.1:8000"
Page = str | Mapping[str, Any]
"""A URL, or an article with `url` and perhaps `source`, `category` and `priority`."""


class AsyncClient:
    """`async with AsyncClient() as client: job = await client.submit([...])`.

    Without a `url`, that of `CURTSY_URL` or of a curtsy on this machine; likewise `CURTSY_KEY`.
    """

    def __init__(
        self, url: str | None = None, *, key: str | None = None, timeout: float = 30.0
    ) -> None:
        key = key or os.environ.get("CURTSY_KEY")
        self._http = httpx.AsyncClient(
            base_url=url or os.environ.get("CURTSY_URL") or DEFAULT_URL,
            headers={"Authorization": f"Bearer {key}"} if key else {},
            timeout=timeout,
        )
        self._talk = Talk(self._http)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._http.aclose()

    async def submit(self, pages: Iterable[Page], **job: Any) -> AsyncJob:
        """A batch of articles. `job` may have the fields of `POST /jobs/submit`."""
        articles = [{"url": page} if isinstance(page, str) else dict(page) for page in pages]
        said = await self._talk.ask("POST", "/jobs/submit", body={"articles": articles} | job)
        return self.job(said["job_id"])

    async def crawl(
        self,
        start_urls: Sequence[str],
        *,
        spider: str = "article",
        depth: int = 0,
        scope: Literal["page", "prefix", "host", "domain"] = "host",
        ignore_cache: bool = False,
        **params: Any,
    ) -> AsyncJob:
        """Follow links from the start pages. `params` may have `include`, `max_pages`…"""
        body = {
            "spider": spider, "start_urls": list(start_urls), "depth": depth,
            "ignore_cache": ignore_cache, "params": {"scope": scope} | params,
        }  # fmt: skip
        return self.job((await self._talk.ask("POST", "/crawl", body=body))["job_id"])

    async def fetch(self, url: str, **job: Any) -> AsyncJob:
        """One page as it comes."""
        return self.job((await self._talk.ask("POST", "/jobs", body={"url": url} | job))["id"])

    async def scrape_source(self, name: str, **search: Any) -> AsyncJob:
        """A site that was declared, by its name."""
        said = await self._talk.ask("POST", "/jobs/scrape", body={"site_name": name} | search)
        return self.job(said["data"]["run_id"])

    def job(self, job_id: str) -> AsyncJob:
        return AsyncJob(self._talk, job_id)

    async def jobs(self, **filters: Any) -> AsyncGenerator[dict[str, Any]]:
        """All jobs, newest first; `filters` as of `GET /jobs`."""
        cursor = None
        while True:
            page = await self._talk.ask("GET", "/jobs", query=filters | {"cursor": cursor})
            for job in page["jobs"]:
                yield job
            if (cursor := page.get("next_cursor")) is None:
                return

    async def ask(self, method: str, path: str, *, body: Any = None, **query: Any) -> Any:
        """Anything else that the API can do."""
        return await self._talk.ask(method, path, body=body, query=query)
