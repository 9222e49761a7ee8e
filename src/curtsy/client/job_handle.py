"""A handle on a job: read its status, wait for it, read its results, cancel or retry it."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from curtsy.client.event_stream import Message, follow, poll_pages
from curtsy.client.http import ApiConnection
from curtsy.client.retries import FIRST_PAUSE, Deadline, Patience
from curtsy.model.job_states import OPEN_STATES

LONGEST_POLL = 0.5
"""Seconds between two polls of a job that a program waits for; the first polls come sooner."""
PAGE = 200
"""Results per request."""


@dataclass(frozen=True, slots=True)
class Status:
    """A job's status. `body` is the API's response as it came, in the fields of the job's door."""

    state: str
    body: dict[str, Any]

    def __str__(self) -> str:
        return str(self.body["status"])

    @property
    def is_over(self) -> bool:
        return self.state not in OPEN_STATES

    @property
    def is_run(self) -> bool:
        """True for a run of a site, whose results are records."""
        return bool(self.body["door"] == "runs")

    @property
    def completed(self) -> int:
        return self._count("completed", "completed_pages", otherwise=self.state == "succeeded")

    @property
    def failed(self) -> int:
        return self._count("failed", "errors_count", otherwise=self.state == "failed")

    @property
    def cancelled(self) -> int:
        return self._count("cancelled", otherwise=self.state == "cancelled")

    @property
    def total(self) -> int:
        """Pages of the job so far; a crawl finds more as it goes."""
        return self._count("total_articles", "total_pages", "requested_pages", otherwise=1)

    def _count(self, *names: str, otherwise: int) -> int:
        """Reads the count under the door's own field name; the fetch door has none."""
        return int(next((self.body[name] for name in names if name in self.body), otherwise))


Progress = Callable[[Status], None]


class AsyncJob:
    """A job on an API, by its id."""

    def __init__(self, api: ApiConnection, job_id: str) -> None:
        self.id = job_id
        self._api = api

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.id!r})"

    async def status(self) -> Status:
        body = await self._api.request("GET", f"/jobs/{self.id}/status")
        return Status(body["state"], body)

    async def why(self) -> dict[str, Any]:
        """Returns what the job waits for, until when, and what would free it."""
        why: dict[str, Any] = await self._api.request("GET", f"/jobs/{self.id}/why")
        return why

    async def wait(
        self, timeout: float | None = None, *, progress: Progress | None = None
    ) -> Status:
        """Waits until the job has ended; calls `progress` with every status that it polls.

        Retries while the API's database is away, and while a server that answered before is down.
        """
        async with aclosing(self.poll(timeout)) as statuses:
            async for status in statuses:
                if progress is not None:
                    progress(status)
        return status

    async def poll(self, timeout: float | None = None) -> AsyncGenerator[Status]:
        """Yields the job's status until the job has ended."""
        patience, deadline = Patience(self._api, timeout=timeout), Deadline(timeout, self.id)
        pause = FIRST_PAUSE
        while True:
            status = await deadline.wait_for(patience.call(self.status))
            yield status
            if status.is_over:
                return
            await deadline.wait_for(asyncio.sleep(pause))
            pause = min(pause * 1.5, LONGEST_POLL)

    async def results(self) -> AsyncGenerator[dict[str, Any]]:
        """Yields the results so far in order, reading a page of them at a time.

        Failures have `error`. A run of a site yields the records that it found.
        """
        patience = Patience(self._api)
        status = await patience.call(self.status)
        read = self._records if status.is_run else self._pages
        async with aclosing(read(patience)) as found:
            async for one in found:
                yield one

    async def _records(self, patience: Patience) -> AsyncGenerator[dict[str, Any]]:
        run = await patience.call(lambda: self._api.request("GET", f"/jobs/scrape/{self.id}"))
        for record in run["data"]["results"]:
            yield record

    async def _pages(self, patience: Patience) -> AsyncGenerator[dict[str, Any]]:
        path, query = f"/jobs/{self.id}/results", {"limit": PAGE, "cursor": None}
        while True:
            page = await patience.call(lambda: self._api.request("GET", path, query=query))  # noqa: B023
            for found in page["results"] + page["failed_articles"]:
                yield found
            if page.get("next_cursor") is None:
                return
            query = query | {"cursor": page["next_cursor"]}

    async def get(self, timeout: float | None = None) -> list[dict[str, Any]]:
        """Waits until the job has ended, then returns all results and failures."""
        await self.wait(timeout)
        return [found async for found in self.results()]

    async def events(
        self, after: int = 0, *, timeout: float | None = None
    ) -> AsyncGenerator[Message]:
        """Yields every change once and in order, until the job has ended.

        Reconnects when the connection is cut.
        """
        last, patience = after, Patience(self._api, timeout=timeout)
        deadline = Deadline(timeout, self.id)
        while True:
            path = f"/ws/jobs/{self.id}"
            async with aclosing(follow(self._api, path, last, patience)) as messages:
                while (message := await deadline.wait_for(anext(messages)))[
                    "event"
                ] != "job_finished":
                    if message["event"] != "state":
                        last = message["seq"]
                        yield message
                    elif message["state"] not in OPEN_STATES and message["last_seq"] <= last:
                        return
            last = message["seq"]
            yield message  # the state after reconnecting shows whether failures are being retried

    async def logs(self, *, follow: bool = False) -> AsyncGenerator[dict[str, str]]:
        """Yields the job's log so far, or with `follow` until the job has ended.

        Lines have `ts`, `level` and `msg`.
        """
        async with aclosing(poll_pages(self._api, f"/jobs/{self.id}/logs")) as found:
            async for page in found:
                for line in page["lines"]:
                    yield line
                if page["ended"] or not (follow or page["lines"]):
                    return

    async def cancel(self) -> str:
        """Cancels the job and returns the API's message."""
        return await self._act("DELETE")

    async def purge(self) -> str:
        """Deletes the job, with all data that no other job uses."""
        return await self._act("DELETE", purge="true")

    async def retry(self) -> str:
        return await self._act("POST", "/retry")

    async def pause(self) -> str:
        return await self._act("POST", "/pause")

    async def resume(self) -> str:
        return await self._act("POST", "/resume")

    async def _act(self, method: str, action: str = "", **query: str) -> str:
        answer = await self._api.request(method, f"/jobs/{self.id}{action}", query=query)
        return str(answer["message"])
