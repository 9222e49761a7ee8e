"""The same client for programs without an event loop: each call waits for its answer."""

import atexit
from collections.abc import Coroutine, Iterable, Iterator, Sequence
from contextlib import closing
from types import TracebackType
from typing import Any, Self

from curtsy.client.async_client import AsyncClient
from curtsy.client.background_loop import BackgroundLoop
from curtsy.client.event_stream import Message
from curtsy.client.job import AsyncJob, Progress, Status
from curtsy.client.request_bodies import Page


class Job:
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
        """Until it has ended; `progress` is told how it stands whenever that was looked at."""
        with closing(self._loop.each(self._job.looks(timeout))) as looks:
            for status in looks:
                if progress is not None:
                    progress(status)
        return status

    def get(self, timeout: float | None = None) -> list[dict[str, Any]]:
        """Wait for its end, then all results and failures."""
        return self._loop.run(self._job.get(timeout))

    def results(self) -> Iterator[dict[str, Any]]:
        return self._loop.each(self._job.results())

    def events(self, after: int = 0, *, timeout: float | None = None) -> Iterator[Message]:
        return self._loop.each(self._job.events(after, timeout=timeout))

    def logs(self, *, follow: bool = False) -> Iterator[dict[str, str]]:
        return self._loop.each(self._job.logs(follow=follow))

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
        atexit.register(self.close)  # later, nobody would end what its thread still waits for

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
        """Once or more often."""
        atexit.unregister(self.close)
        if not self._loop.is_closed:
            self._loop.run(self._client.close())
            self._loop.close()

    def submit(self, pages: Iterable[Page], **job: Any) -> Job:
        """A batch of articles. `job` may have the fields of `POST /jobs/submit`."""
        return self._handle(self._client.submit(pages, **job))

    def plan(self, pages: Iterable[Page], **job: Any) -> dict[str, Any]:
        """What the same would come to; nothing is submitted."""
        return self._loop.run(self._client.plan(pages, **job))

    def crawl(self, start_urls: Sequence[str], **options: Any) -> Job:
        """Follow links from the start pages; options as of `AsyncClient.crawl`."""
        return self._handle(self._client.crawl(start_urls, **options))

    def plan_crawl(self, start_urls: Sequence[str], **options: Any) -> dict[str, Any]:
        """What its start pages would come to; nothing is submitted."""
        return self._loop.run(self._client.plan_crawl(start_urls, **options))

    def fetch(self, url: str, **job: Any) -> Job:
        """One page as it comes."""
        return self._handle(self._client.fetch(url, **job))

    def scrape_source(self, name: str, **search: Any) -> Job:
        """A site that was declared, by its name."""
        return self._handle(self._client.scrape_source(name, **search))

    def job(self, job_id: str) -> Job:
        return Job(self._loop, self._client.job(job_id))

    def jobs(self, **filters: Any) -> Iterator[dict[str, Any]]:
        """All jobs, newest first; `filters` as of `GET /jobs`."""
        return self._loop.each(self._client.jobs(**filters))

    def events(self, after: str | None = None) -> Iterator[Message]:
        """What happens to all jobs from now on, or behind that place, for ever."""
        return self._loop.each(self._client.events(after))

    def ask(self, method: str, path: str, *, body: Any = None, **query: Any) -> Any:
        """Anything else that the API can do."""
        return self._loop.run(self._client.ask(method, path, body=body, **query))

    def _handle(self, made: Coroutine[Any, Any, AsyncJob]) -> Job:
        return Job(self._loop, self._loop.run(made))
