"""The same client for programs without an event loop: each call blocks until its result."""

import atexit
from collections.abc import Coroutine, Iterable, Iterator
from contextlib import closing
from types import TracebackType
from typing import Any, Self

from curtsy.client.async_client import AsyncClient
from curtsy.client.background_loop import BackgroundLoop
from curtsy.client.event_stream import Message
from curtsy.client.job_handle import AsyncJob, Progress, Status
from curtsy.client.request_bodies import Page


class Job:
    """A job on an API; `AsyncJob` describes its methods."""

    def __init__(self, loop: BackgroundLoop, job: AsyncJob) -> None:
        self._loop, self._job = loop, job
        self.id = job.id

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.id!r})"

    @property
    def status(self) -> Status:
        return self._loop.run(self._job.status())

    def why(self) -> dict[str, Any]:
        return self._loop.run(self._job.why())

    def wait(self, timeout: float | None = None, *, progress: Progress | None = None) -> Status:
        """Waits until the job has ended; calls `progress` with every status that it polls."""
        with closing(self._loop.iterate(self._job.poll(timeout))) as statuses:
            for status in statuses:
                if progress is not None:
                    progress(status)
        return status

    def get(self, timeout: float | None = None) -> list[dict[str, Any]]:
        """Waits until the job has ended, then returns all results and failures."""
        return self._loop.run(self._job.get(timeout))

    def results(self) -> Iterator[dict[str, Any]]:
        return self._loop.iterate(self._job.results())

    def events(self, after: int = 0, *, timeout: float | None = None) -> Iterator[Message]:
        return self._loop.iterate(self._job.events(after, timeout=timeout))

    def logs(self, *, follow: bool = False) -> Iterator[dict[str, str]]:
        return self._loop.iterate(self._job.logs(follow=follow))

    def cancel(self) -> str:
        return self._loop.run(self._job.cancel())

    def purge(self) -> str:
        return self._loop.run(self._job.purge())

    def retry(self) -> str:
        return self._loop.run(self._job.retry())

    def pause(self) -> str:
        return self._loop.run(self._job.pause())

    def resume(self) -> str:
        return self._loop.run(self._job.resume())


class Client:
    """`with Client() as client: client.submit([...]).get(timeout=60)`."""

    def __init__(
        self, url: str | None = None, *, key: str | None = None, timeout: float = 30.0
    ) -> None:
        self._client = AsyncClient(url, key=key, timeout=timeout)
        self._loop = BackgroundLoop()
        atexit.register(self.close)  # later, nothing could cancel what its thread waits for

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """May be called more than once."""
        atexit.unregister(self.close)
        if not self._loop.is_closed:
            self._loop.run(self._client.close())
            self._loop.close()

    def submit(self, pages: Page | Iterable[Page], **job: Any) -> Job:
        """Submits a batch of articles. `job` takes the other fields of `POST /jobs/submit`."""
        return self._handle(self._client.submit(pages, **job))

    def plan(self, pages: Page | Iterable[Page], **job: Any) -> dict[str, Any]:
        """Previews the same job without submitting it."""
        return self._loop.run(self._client.plan(pages, **job))

    def crawl(self, start_urls: str | Iterable[str], **options: Any) -> Job:
        """Submits a crawl that follows links; takes the options of `AsyncClient.crawl`."""
        return self._handle(self._client.crawl(start_urls, **options))

    def plan_crawl(self, start_urls: str | Iterable[str], **options: Any) -> dict[str, Any]:
        """Previews the start pages of a crawl without submitting it."""
        return self._loop.run(self._client.plan_crawl(start_urls, **options))

    def fetch(self, url: str, **job: Any) -> Job:
        """Submits one page; its result is the body as the host sent it."""
        return self._handle(self._client.fetch(url, **job))

    def scrape_source(self, name: str, **search: Any) -> Job:
        """Starts a run of the declared site `name`; `priority` is Celery's (9 is urgent)."""
        return self._handle(self._client.scrape_source(name, **search))

    def scrape_country(self, name: str, country: str, **search: Any) -> Job:
        """Scrapes one country's page of the site `name`; `priority` is Celery's (9 is urgent)."""
        return self._handle(self._client.scrape_country(name, country, **search))

    def adjust_rate_limits(self, source: str, **limits: Any) -> dict[str, Any]:
        """Changes limits of a source; takes the fields of `PATCH /sources/{name}`."""
        return self._loop.run(self._client.adjust_rate_limits(source, **limits))

    def job(self, job_id: str) -> Job:
        return Job(self._loop, self._client.job(job_id))

    def jobs(self, **filters: Any) -> Iterator[dict[str, Any]]:
        """Yields all jobs, newest first. `filters` takes the query fields of `GET /jobs`."""
        return self._loop.iterate(self._client.jobs(**filters))

    def events(self, after: str | None = None) -> Iterator[Message]:
        """Yields events of all jobs without end: from now on, or those after `after`."""
        return self._loop.iterate(self._client.events(after))

    def ask(self, method: str, path: str, *, body: Any = None, **query: Any) -> Any:
        """Sends any other request to the API and returns the JSON of its response."""
        return self._loop.run(self._client.ask(method, path, body=body, **query))

    def _handle(self, created: Coroutine[Any, Any, AsyncJob]) -> Job:
        return Job(self._loop, self._loop.run(created))
