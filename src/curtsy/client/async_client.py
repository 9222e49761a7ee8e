"""The client for programs that run an event loop."""

import os
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import aclosing
from types import TracebackType
from typing import Any, Self

from curtsy.client.address import way_to
from curtsy.client.event_stream import Message, follow
from curtsy.client.http import ApiConnection
from curtsy.client.job import AsyncJob
from curtsy.client.request_bodies import Page, articles, crawl
from curtsy.client.retries import Patience
from curtsy.model.scope import Reach

DEFAULT_URL = "http://127.0.0.1:8000"


class AsyncClient:
    """`async with AsyncClient() as client: job = await client.submit([...])`.

    Without a `url`, that of `CURTSY_URL` or of a curtsy on this machine; likewise `CURTSY_KEY`.
    """

    def __init__(
        self, url: str | None = None, *, key: str | None = None, timeout: float = 30.0
    ) -> None:
        url = url or os.environ.get("CURTSY_URL") or DEFAULT_URL
        self._http = way_to(url, key=key, timeout=timeout)
        self._talk = ApiConnection(self._http)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Once or more often."""
        await self._http.aclose()

    async def submit(
        self, pages: Iterable[Page], *, idempotency_key: str | None = None, **job: Any
    ) -> AsyncJob:
        """A batch of articles. `job` may have the fields of `POST /jobs/submit`."""
        made = await self._make("/jobs/submit", articles(pages, job), idempotency_key)
        return self.job(made["job_id"])

    async def plan(self, pages: Iterable[Page], **job: Any) -> dict[str, Any]:
        """What the same would come to; nothing is submitted."""
        return await self._plan("/jobs/submit", articles(pages, job))

    async def crawl(
        self,
        start_urls: Sequence[str],
        *,
        spider: str = "article",
        depth: int = 0,
        scope: Reach = "host",
        idempotency_key: str | None = None,
        **more: Any,
    ) -> AsyncJob:
        """Follow links from the start pages. `more` may have fields of `POST /crawl` (`name`,
        `tags`, `webhook_url`, `schedule_at`, `interval`…) and of its `params` (`include`,
        `max_pages`…)."""
        body = crawl(start_urls, spider=spider, depth=depth, more={"scope": scope} | more)
        return self.job((await self._make("/crawl", body, idempotency_key))["job_id"])

    async def plan_crawl(
        self, start_urls: Sequence[str], *, spider: str = "article", **more: Any
    ) -> dict[str, Any]:
        """What its start pages would come to; nothing is submitted."""
        depth = more.pop("depth", 0)
        return await self._plan("/crawl", crawl(start_urls, spider=spider, depth=depth, more=more))

    async def fetch(self, url: str, *, idempotency_key: str | None = None, **job: Any) -> AsyncJob:
        """One page as it comes."""
        return self.job((await self._make("/jobs", {"url": url} | job, idempotency_key))["id"])

    async def _make(
        self, path: str, body: Mapping[str, Any], idempotency_key: str | None
    ) -> dict[str, Any]:
        if body.get("dry_run"):
            raise TypeError("A dry run makes no job: use plan, or plan_crawl.")
        headers = {"Idempotency-Key": idempotency_key} if idempotency_key is not None else None
        made: dict[str, Any] = await self._talk.ask("POST", path, body=body, headers=headers)
        return made

    async def _plan(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        plan: dict[str, Any] = await self._talk.ask("POST", path, body={**body, "dry_run": True})
        return plan

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

    async def events(self, after: str | None = None) -> AsyncGenerator[Message]:
        """What happens to all jobs from now on, or behind the place `after` (the `seq` of an
        event), for ever; comes back when cut off."""
        async with aclosing(follow(self._talk, "/ws", after, Patience(self._talk))) as messages:
            async for told in messages:
                if told["event"] != "state":
                    yield told

    async def ask(self, method: str, path: str, *, body: Any = None, **query: Any) -> Any:
        """Anything else that the API can do."""
        return await self._talk.ask(method, path, body=body, query=query)
