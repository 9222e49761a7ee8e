"""A handle on a job: read its status, wait for it, read its results, cancel or retry it."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, closing
from typing import TYPE_CHECKING, Any

from curtsy.client.answer import read
from curtsy.client.answers import (
    Cancelled,
    Changed,
    Deliveries,
    JobWaiting,
    Performance,
    Replayed,
    Run,
    WebhookDelivery,
)
from curtsy.client.event_stream import Message, follow, poll_pages
from curtsy.client.faces import Awaited, Blocking, Face, Resource, call, each, fact
from curtsy.client.http import ApiConnection
from curtsy.client.record_lists import Records
from curtsy.client.result_stream import ResultStream, results_in_order
from curtsy.client.results import PageResult, Result, RunRecord
from curtsy.client.retries import FIRST_PAUSE, Deadline, Patience
from curtsy.client.statuses import Progress, Status, WholeJob, status_of, whole_job
from curtsy.model.job_states import OPEN_STATES

if TYPE_CHECKING:
    from curtsy.client.background_loop import BackgroundLoop

LONGEST_POLL = 0.5
"""Seconds between two polls of a job that a program waits for; the first polls come sooner."""


class JobHandle(Resource[Face]):
    """A job on an API, by its id."""

    def __init__(
        self, api: ApiConnection, job_id: str, loop: "BackgroundLoop | None" = None
    ) -> None:
        super().__init__(api, loop)
        self.id = job_id

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.id!r})"

    @fact
    async def status(self) -> Status:
        return await self._status()

    @call
    async def details(self) -> WholeJob:
        """Returns the job and what it was asked for. Of a long list of start URLs or pages, the
        first hundred."""
        return whole_job(await self._api.request("GET", f"/jobs/{self.id}"))

    @call
    async def why(self) -> JobWaiting:
        """Returns what the job waits for, until when, and what would free it."""
        return await self._ask(JobWaiting, "GET", f"/jobs/{self.id}/why")

    @each
    async def poll(self, timeout: float | None = None) -> AsyncGenerator[Status]:
        """Yields the job's status until the job has ended.

        Retries while the API's database is away, and while a server that answered before is down.
        """
        async with aclosing(self._poll(timeout)) as statuses:
            async for status in statuses:
                yield status

    @each
    async def results(self) -> AsyncGenerator[Result]:
        """Yields the results so far in order, reading a page of them at a time.

        An article is an `Article`, a failure a `PageFailure`; `isinstance` tells them apart. A run
        of a site yields the records that it found.
        """
        async with aclosing(self._each_result()) as found:
            async for one in found:
                yield one

    @each
    async def as_they_come(self, timeout: float | None = None) -> AsyncGenerator[PageResult]:
        """Yields each result once, soon after its page has ended, until the job has ended."""
        stream = self.result_stream(timeout)
        async with aclosing(stream.during(self._poll(timeout))) as found:
            async for one in found:
                yield one

    records = Records()
    """Yields the records of all results: `records()` as dicts, `records(Product)` as instances of
    a dataclass or pydantic model."""

    @call
    async def get(self, timeout: float | None = None) -> list[Result]:
        """Waits until the job has ended, then returns all results and failures."""
        async with aclosing(self._poll(timeout)) as statuses:
            async for _status in statuses:
                pass
        return [found async for found in self._each_result()]

    @call
    async def run(self) -> Run:
        """Returns a run of a declared site, with how its records changed."""
        return await self._ask_enveloped(Run, "GET", f"/jobs/scrape/{self.id}")

    @each
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

    @each
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

    @call
    async def performance(self) -> Performance:
        """Returns how the job went: its duration, attempts, memory and newest failures."""
        return await self._ask(Performance, "GET", f"/jobs/{self.id}/performance")

    @call
    async def cancel(self) -> str:
        """Cancels the job and returns the API's message."""
        return await self._end()

    @call
    async def purge(self) -> str:
        """Deletes the job, with all data that no other job uses."""
        return await self._end(purge="true")

    @call
    async def end_schedule(self) -> str:
        """Deletes the schedule that created the job."""
        return await self._end(schedule="true")

    @call
    async def retry(self) -> str:
        return await self._change("/retry")

    @call
    async def pause(self) -> str:
        return await self._change("/pause")

    @call
    async def resume(self) -> str:
        return await self._change("/resume")

    @call
    async def webhooks(self) -> tuple[WebhookDelivery, ...]:
        """Returns the webhook deliveries of the job."""
        path = f"/jobs/{self.id}/webhooks"
        return (await self._ask(Deliveries, "GET", path)).deliveries

    @call
    async def replay_webhook(self, delivery: int) -> Replayed:
        """Delivers a webhook again."""
        return await self._ask(Replayed, "POST", f"/jobs/{self.id}/webhooks/{delivery}/replay")

    def result_stream(self, timeout: float | None) -> ResultStream:
        return ResultStream(self._api, self.id, Patience(self._api, timeout=timeout))

    async def _status(self) -> Status:
        return status_of(await self._api.request("GET", f"/jobs/{self.id}/status"))

    async def _poll(self, timeout: float | None) -> AsyncGenerator[Status]:
        patience, deadline = Patience(self._api, timeout=timeout), Deadline(timeout, self.id)
        pause = FIRST_PAUSE
        while True:
            status = await deadline.wait_for(patience.call(self._status))
            yield status
            if status.is_over:
                return
            await deadline.wait_for(asyncio.sleep(pause))
            pause = min(pause * 1.5, LONGEST_POLL)

    async def _each_result(self) -> AsyncGenerator[Result]:
        patience = Patience(self._api)
        status = await patience.call(self._status)
        if status.is_run:
            run = await patience.call(lambda: self._api.request("GET", f"/jobs/scrape/{self.id}"))
            for record in run["data"]["results"]:
                yield RunRecord(record)
            return
        async with aclosing(results_in_order(self._api, self.id, patience)) as pieces:
            async for piece, _cursor in pieces:
                for found in piece:
                    yield found

    async def _end(self, **query: str) -> str:
        found: Any = await self._api.request("DELETE", f"/jobs/{self.id}", query=query)
        return read(Cancelled, found).message

    async def _change(self, action: str) -> str:
        return (await self._ask(Changed, "POST", f"/jobs/{self.id}{action}")).message


class AsyncJob(JobHandle[Awaited]):
    """A job for programs with an event loop."""

    async def wait(
        self, timeout: float | None = None, *, progress: Progress | None = None
    ) -> Status:
        """Waits until the job has ended; calls `progress` with every status that it polls."""
        async with aclosing(self.poll(timeout)) as statuses:
            async for status in statuses:
                if progress is not None:
                    progress(status)
        return status


class Job(JobHandle[Blocking]):
    """A job for programs without an event loop."""

    def wait(self, timeout: float | None = None, *, progress: Progress | None = None) -> Status:
        """Waits until the job has ended; calls `progress`, in the caller's thread, with every
        status that it polls."""
        with closing(self.poll(timeout)) as statuses:
            for status in statuses:
                if progress is not None:
                    progress(status)
        return status
