"""The client for programs with an event loop."""

import os
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import aclosing
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

from curtsy.client.address import open_http
from curtsy.client.event_stream import Message, follow
from curtsy.client.http import ApiConnection
from curtsy.client.job_handle import AsyncJob
from curtsy.client.request_bodies import Page, articles, crawl
from curtsy.client.retries import Patience
from curtsy.model.priorities import from_celery
from curtsy.model.scope import Reach

DEFAULT_URL = "http://127.0.0.1:8000"


class AsyncClient:
    """`async with AsyncClient() as client: job = await client.submit([...])`.

    `url` defaults to `CURTSY_URL`, or else to a curtsy on this machine; `key` to `CURTSY_KEY`.
    """

    def __init__(
        self, url: str | None = None, *, key: str | None = None, timeout: float = 30.0
    ) -> None:
        url = url or os.environ.get("CURTSY_URL") or DEFAULT_URL
        self._http = open_http(url, key=key, timeout=timeout)
        self._api = ApiConnection(self._http)

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
        """May be called more than once."""
        await self._http.aclose()

    async def submit(
        self, pages: Page | Iterable[Page], *, idempotency_key: str | None = None, **job: Any
    ) -> AsyncJob:
        """Submits a batch of articles. `job` takes the other fields of `POST /jobs/submit`."""
        created = await self._create("/jobs/submit", articles(pages, job), idempotency_key)
        return self.job(created["job_id"])

    async def plan(self, pages: Page | Iterable[Page], **job: Any) -> dict[str, Any]:
        """Previews the same job without submitting it."""
        return await self._plan("/jobs/submit", articles(pages, job))

    async def crawl(
        self,
        start_urls: str | Iterable[str],
        *,
        spider: str = "article",
        depth: int = 0,
        scope: Reach = "host",
        idempotency_key: str | None = None,
        **more: Any,
    ) -> AsyncJob:
        """Submits a crawl that follows links from the start pages.

        `more` takes fields of `POST /crawl` (`name`, `tags`, `webhook_url`, `schedule_at`,
        `interval`…) and of its `params` (`include`, `max_pages`…).
        """
        body = crawl(start_urls, spider=spider, depth=depth, more={"scope": scope} | more)
        return self.job((await self._create("/crawl", body, idempotency_key))["job_id"])

    async def plan_crawl(
        self, start_urls: str | Iterable[str], *, spider: str = "article", **more: Any
    ) -> dict[str, Any]:
        """Previews the start pages of a crawl without submitting it."""
        depth = more.pop("depth", 0)
        return await self._plan("/crawl", crawl(start_urls, spider=spider, depth=depth, more=more))

    async def fetch(self, url: str, *, idempotency_key: str | None = None, **job: Any) -> AsyncJob:
        """Submits one page; its result is the body as the host sent it."""
        return self.job((await self._create("/jobs", {"url": url} | job, idempotency_key))["id"])

    async def _create(
        self, path: str, body: Mapping[str, Any], idempotency_key: str | None
    ) -> dict[str, Any]:
        if body.get("dry_run"):
            raise TypeError("A dry run creates no job: use plan or plan_crawl.")
        headers = {"Idempotency-Key": idempotency_key} if idempotency_key is not None else None
        created: dict[str, Any] = await self._api.request("POST", path, body=body, headers=headers)
        return created

    async def _plan(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        plan: dict[str, Any] = await self._api.request("POST", path, body={**body, "dry_run": True})
        return plan

    async def scrape_source(
        self, name: str, *, priority: int | None = None, **search: Any
    ) -> AsyncJob:
        """Starts a run of the declared site `name`.

        `priority` is Celery's, as in the operations document: 9 is the most urgent, 0 the last.
        """
        body = {"site_name": name} | search
        if priority is not None:
            body["priority"] = from_celery(priority)
        run = await self._api.request("POST", "/jobs/scrape", body=body)
        return self.job(run["data"]["run_id"])

    async def scrape_country(
        self, name: str, country: str, *, priority: int | None = None, **search: Any
    ) -> AsyncJob:
        """Scrapes one country's page of the declared site `name`; `priority` is Celery's."""
        return await self.scrape_source(name, country=country, priority=priority, **search)

    async def adjust_rate_limits(self, source: str, **limits: Any) -> dict[str, Any]:
        """Changes limits of a source, which hold for the next request on every worker:
        `adjust_rate_limits("us_state_dept", requests_per_hour=80, min_delay_seconds=2.0)`.

        `limits` takes the fields of `PATCH /sources/{name}`; None restores a default. Returns the
        source with its policy.
        """
        path = f"/sources/{quote(source, safe='')}"
        changed: dict[str, Any] = await self._api.request("PATCH", path, body=limits)
        return changed

    def job(self, job_id: str) -> AsyncJob:
        return AsyncJob(self._api, job_id)

    async def jobs(self, **filters: Any) -> AsyncGenerator[dict[str, Any]]:
        """Yields all jobs, newest first. `filters` takes the query fields of `GET /jobs`."""
        cursor = None
        while True:
            page = await self._api.request("GET", "/jobs", query=filters | {"cursor": cursor})
            for job in page["jobs"]:
                yield job
            if (cursor := page.get("next_cursor")) is None:
                return

    async def events(self, after: str | None = None) -> AsyncGenerator[Message]:
        """Yields events of all jobs without end: from now on, or those after `after` (the `seq`
        of an event). Reconnects when the connection is cut."""
        async with aclosing(follow(self._api, "/ws", after, Patience(self._api))) as messages:
            async for message in messages:
                if message["event"] != "state":
                    yield message

    async def ask(self, method: str, path: str, *, body: Any = None, **query: Any) -> Any:
        """Sends any other request to the API and returns the JSON of its response."""
        return await self._api.request(method, path, body=body, query=query)
