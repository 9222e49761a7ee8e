"""What both clients can do, written once: `Client` and `AsyncClient` are its two faces."""

from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Generic, TypedDict, TypeVar, Unpack
from urllib.parse import quote

from curtsy.client.answer import read
from curtsy.client.answers import (
    ArticlesCreated,
    Cleanup,
    CrawlCreated,
    FetchCreated,
    Health,
    Page,
    Plan,
    QueueHealth,
    QueueStatus,
    RunStarted,
    Source,
    Stats,
    Version,
    Waiting,
    WebhookSecret,
    WhoYouAre,
    Worker,
    WorkerList,
)
from curtsy.client.bodies import (
    ArticlesKeywords,
    CrawlKeywords,
    FetchKeywords,
    SearchKeywords,
    SourceChanges,
)
from curtsy.client.event_stream import Message, follow
from curtsy.client.faces import Face, Resource, call, each
from curtsy.client.http import ApiConnection
from curtsy.client.job_handle import AsyncJob
from curtsy.client.request_bodies import PageBody, articles, as_json, crawl
from curtsy.client.resources import (
    Alerts,
    DeadLetters,
    DeclaredSites,
    Reports,
    Schedules,
    Sources,
)
from curtsy.client.results import PageResult
from curtsy.client.retries import Patience
from curtsy.client.scrape_job import scraped, start_scrape
from curtsy.client.statuses import ListedJob, listed_job
from curtsy.model.priorities import from_celery
from curtsy.model.scope import Reach

if TYPE_CHECKING:
    from curtsy.client.background_loop import BackgroundLoop

J = TypeVar("J")
"""The handle on a job in the same face."""


class JobFilters(TypedDict, total=False):
    """Which jobs to list."""

    status_filter: str
    """A status of any door, or a state; `retry`, `dead_letter`."""
    door: str
    source: str
    """The site of runs, or the source of pages."""
    tag: str
    q: str
    """A part of the name."""
    limit: int
    """Jobs per request."""


class ClientCalls(Resource[Face], Generic[Face, J]):
    """Jobs of all doors, and what they run on."""

    def __init__(
        self, api: ApiConnection, handle: Callable[[str], J], loop: "BackgroundLoop | None" = None
    ) -> None:
        super().__init__(api, loop)
        self._handle = handle
        self.schedules: Schedules[Face] = Schedules(api, loop)
        self.sources: Sources[Face] = Sources(api, loop)
        self.sites: DeclaredSites[Face] = DeclaredSites(api, loop)
        self.dead_letters: DeadLetters[Face] = DeadLetters(api, loop)
        self.alerts: Alerts[Face] = Alerts(api, loop)
        self.reports: Reports[Face] = Reports(api, loop)

    @call
    async def submit(
        self, pages: PageBody | Iterable[PageBody], *, idempotency_key: str | None = None,
        **job: Unpack[ArticlesKeywords],
    ) -> J:  # fmt: skip
        """Submits a batch of articles. `job` takes the other fields of `POST /jobs/submit`."""
        body = articles(pages, job)
        created = await self._create(ArticlesCreated, "/jobs/submit", body, idempotency_key)
        return self._handle(created.job_id)

    @call
    async def plan(
        self, pages: PageBody | Iterable[PageBody], **job: Unpack[ArticlesKeywords]
    ) -> Plan:
        """Previews the same job without submitting it."""
        return await self._plan("/jobs/submit", articles(pages, job))

    @call
    async def crawl(
        self, start_urls: str | Iterable[str] = (), *, spider: str = "article", depth: int = 0,
        scope: Reach = "host", idempotency_key: str | None = None, **more: Unpack[CrawlKeywords],
    ) -> J:  # fmt: skip
        """Submits a crawl that follows links from the start pages.

        `more` takes fields of `POST /crawl` (`name`, `tags`, `webhook_url`, `schedule_at`,
        `interval`…) and of its `params` (`include`, `max_pages`…); arguments of a scraper of your
        own stand in `args`.
        """
        body = crawl(start_urls, spider=spider, depth=depth, more={"scope": scope, **more})
        created = await self._create(CrawlCreated, "/crawl", body, idempotency_key)
        return self._handle(created.job_id)

    @call
    async def discover(self, url: str, *, max_lists: int | None = None) -> J:
        """Lists the feeds and sitemaps of a site; a record of the job is one of them."""
        body = {"url": url} | ({} if max_lists is None else {"max_lists": max_lists})
        created = await self._create(CrawlCreated, "/discover", body, None)
        return self._handle(created.job_id)

    @call
    async def plan_crawl(
        self, start_urls: str | Iterable[str], *, spider: str = "article", depth: int = 0,
        **more: Unpack[CrawlKeywords],
    ) -> Plan:  # fmt: skip
        """Previews the start pages of a crawl without submitting it."""
        return await self._plan("/crawl", crawl(start_urls, spider=spider, depth=depth, more=more))

    @call
    async def fetch(
        self, url: str, *, idempotency_key: str | None = None, **job: Unpack[FetchKeywords]
    ) -> J:
        """Submits one page; its result is the body as the host sent it."""
        body = {"url": url} | as_json(job)
        created = await self._create(FetchCreated, "/jobs", body, idempotency_key)
        return self._handle(created.id)

    @call
    async def scrape_source(
        self, name: str, *, country: str | None = None, priority: int | None = None,
        **search: Unpack[SearchKeywords],
    ) -> J:  # fmt: skip
        """Starts a run of the declared site `name`, or with `country` of that country's page.

        `priority` is Celery's, as in the operations document: 9 is the most urgent, 0 the last.
        """
        given: dict[str, Any] = (
            {**search, "country": country} if country is not None else {**search}
        )
        return self._handle(await self._start_run(name, priority, given))

    @call
    async def scrape_country(
        self,
        name: str,
        country: str,
        *,
        priority: int | None = None,
        **search: Unpack[SearchKeywords],
    ) -> J:
        """Scrapes one country's page of the declared site `name`; `priority` is Celery's."""
        given: dict[str, Any] = {**search, "country": country}
        return self._handle(await self._start_run(name, priority, given))

    @call
    async def adjust_rate_limits(self, source: str, **limits: Unpack[SourceChanges]) -> Source:
        """Changes limits of a source, which hold for the next request on every worker:
        `adjust_rate_limits("us_state_dept", requests_per_hour=80, min_delay_seconds=2.0)`.

        The same as `sources.change`; None restores a default.
        """
        path = f"/sources/{quote(source, safe='')}"
        return await self._ask(Source, "PATCH", path, body=as_json(limits))

    @each
    async def scrape(
        self, pages: PageBody | Iterable[PageBody], *, scraper: str = "article",
        max_age: int | None = None, params: Mapping[str, object] | None = None,
        timeout: float | None = None,
    ) -> AsyncGenerator[PageResult]:  # fmt: skip
        """Fetches pages and yields what each became, soon after it has ended.

        `scraper`: `article`, `raw`, or one of your own, which gets `params`. The job ends with
        the call: whoever stops reading, or runs out of `timeout`, cancels what is left of it.
        """
        job = await start_scrape(self._api, pages, scraper, max_age, params)
        async with aclosing(scraped(job, timeout, self._leave)) as found:
            async for result in found:
                yield result

    def job(self, job_id: str) -> J:
        return self._handle(job_id)

    @each
    async def jobs(self, **filters: Unpack[JobFilters]) -> AsyncGenerator[ListedJob]:
        """Yields all jobs, newest first. `filters` takes the query fields of `GET /jobs`."""
        query: dict[str, object] = {**filters}
        while True:
            page = await self._api.request("GET", "/jobs", query=query)
            for job in page["jobs"]:
                yield listed_job(job)
            if page.get("next_cursor") is None:
                return
            query["cursor"] = page["next_cursor"]

    @each
    async def events(self, after: str | None = None) -> AsyncGenerator[Message]:
        """Yields events of all jobs without end: from now on, or those after `after` (the `seq`
        of an event). Reconnects when the connection is cut."""
        async with aclosing(follow(self._api, "/ws", after, Patience(self._api))) as messages:
            async for message in messages:
                if message["event"] != "state":
                    yield message

    @call
    async def page(self, page_id: str) -> Page:
        """Returns a page (`art_…`) with the history of its attempts."""
        return await self._ask(Page, "GET", f"/pages/{page_id}")

    @call
    async def why_page(self, page_id: str) -> Waiting:
        """Returns what a page waits for."""
        return await self._ask(Waiting, "GET", f"/pages/{page_id}/why")

    @call
    async def stats(
        self, *, hours: int | None = None, points: int | None = None, limit: int | None = None
    ) -> Stats:
        """Returns what happened in the last hours, and how things stand now."""
        query: dict[str, object] = {"hours": hours, "points": points, "limit": limit}
        return await self._ask(Stats, "GET", "/stats", query=query)

    @call
    async def workers(self) -> tuple[Worker, ...]:
        return (await self._ask(WorkerList, "GET", "/workers")).workers

    @call
    async def queue(self) -> QueueStatus:
        """Returns what waits, by priority."""
        return await self._ask_enveloped(QueueStatus, "GET", "/jobs/queue/status")

    @call
    async def queue_health(self) -> QueueHealth:
        return await self._ask_enveloped(QueueHealth, "GET", "/jobs/health")

    @call
    async def metrics(self) -> str:
        """Returns the metrics in the text format of Prometheus."""
        return await self._api.text("/metrics", query={})

    @call
    async def health(self) -> Health:
        """Returns the server's health, also while its database is away."""
        return read(Health, await self._api.health())

    @call
    async def version(self) -> Version:
        return await self._ask(Version, "GET", "/version")

    @call
    async def whoami(self) -> WhoYouAre:
        """Returns the user and role of the key."""
        return await self._ask(WhoYouAre, "GET", "/session")

    @call
    async def webhook_secret(self, *, user: str | None = None) -> WebhookSecret:
        """Returns the secret that signs the webhooks of your jobs."""
        return await self._ask(WebhookSecret, "GET", "/webhooks/secret", query={"user": user})

    @call
    async def rotate_webhook_secret(
        self, *, grace_hours: int | None = None, user: str | None = None
    ) -> WebhookSecret:
        """Replaces that secret; the old one signs, too, for the grace."""
        body = {"grace_hours": grace_hours} if grace_hours is not None else {}
        path = "/webhooks/secret/rotate"
        return await self._ask(WebhookSecret, "POST", path, body=body, query={"user": user})

    @call
    async def clean_up(self, *, days: int | None = None) -> Cleanup:
        """Deletes what is older than `days` and what no job needs."""
        body = {"days": days} if days is not None else {}
        return await self._ask(Cleanup, "POST", "/cleanup", body=body)

    @call
    async def last_cleanup(self) -> Cleanup:
        return await self._ask(Cleanup, "GET", "/cleanup")

    @call
    async def ask(self, /, method: str, path: str, *, body: object = None, **query: object) -> Any:
        """Sends any other request to the API and returns the JSON of its response."""
        return await self._api.request(method, path, body=body, query=query)

    async def _leave(self, job: AsyncJob) -> None:
        """Ends a job whose results nobody reads any more."""
        await job.cancel()

    async def _create(
        self, answer: type[Any], path: str, body: Mapping[str, Any], idempotency_key: str | None
    ) -> Any:
        if body.get("dry_run"):
            raise TypeError("A dry run creates no job: use plan or plan_crawl.")
        headers = {"Idempotency-Key": idempotency_key} if idempotency_key is not None else None
        return await self._ask(answer, "POST", path, body=body, headers=headers)

    async def _plan(self, path: str, body: Mapping[str, Any]) -> Plan:
        return await self._ask(Plan, "POST", path, body={**body, "dry_run": True})

    async def _start_run(self, name: str, priority: int | None, search: dict[str, Any]) -> str:
        body = {"site_name": name} | search
        if priority is not None:
            body["priority"] = from_celery(priority)
        return (await self._ask_enveloped(RunStarted, "POST", "/jobs/scrape", body=body)).run_id
