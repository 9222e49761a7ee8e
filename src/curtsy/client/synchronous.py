"""The same client for programs without an event loop: each call waits for its answer."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Coroutine, Iterable, Iterator, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar

from curtsy.client.asynchronous import AsyncClient
from curtsy.client.bodies import Page
from curtsy.client.following import Message
from curtsy.client.job import AsyncJob, Progress, Status

T = TypeVar("T")


class _Loop:
    """An event loop in a thread of its own, for as long as the client lives."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="curtsy", daemon=True)
        self._thread.start()
        self._open: set[AsyncGenerator[Any]] = set()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def each(self, found: AsyncGenerator[T]) -> Iterator[T]:
        self._open.add(found)
        try:
            while True:
                try:
                    yield self.run(anext(found))
                except StopAsyncIteration:
                    return
        finally:
            self._let_go(found)

    def _let_go(self, found: AsyncGenerator[Any]) -> None:
        """Once: at the end of its reader, or with the client, whatever comes first."""
        if found in self._open:
            self._open.discard(found)
            self.run(found.aclose())

    def close(self) -> None:
        for found in list(self._open):
            self._let_go(found)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class Job:
    def __init__(self, loop: _Loop, job: AsyncJob) -> None:
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
        """Until it has ended; `progress` is told how it stands, from another thread."""
        return self._loop.run(self._job.wait(timeout, progress=progress))

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
        self._loop = _Loop()

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
        self._loop.run(self._client.__aexit__(None, None, None))
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
