"""Writes the results of a job as its pages end, each once, whoever reads them and however slowly.

The numbers of the job's events say where to go on, so that nothing is missed or read twice. Pages
from the store have no event, and a service that was upgraded meanwhile may lack some: when the job
has ended, its counts show whether any result is missing, and those are read by their positions.
"""

import asyncio
import select
import sys
from collections.abc import Callable, Sequence
from contextlib import aclosing
from typing import Any

import typer

from curtsy.cli.console.exit_codes import OUTPUT_CLOSED
from curtsy.cli.views.results import Writer, Written, write_one
from curtsy.client import ApiConnection, AsyncJob, Patience, Status

PAGE = 200
"""Results per request."""

Results = Sequence[dict[str, Any]]


class LiveResults:
    def __init__(self, job_id: str, writer: Writer) -> None:
        self.written = Written()
        self._job_id, self._writer, self._event = job_id, writer, 0
        self._done, self._failed = set[str](), set[str]()
        """Pages whose result, or whose failure, is written."""

    async def write_new(self, api: ApiConnection) -> None:
        """Writes the results of pages that ended since the last call."""
        require_reader()
        patience, path = Patience(api), f"/jobs/{self._job_id}/results"
        while True:
            query = {"after_event": self._event, "limit": PAGE}
            found = await patience.call(lambda: api.request("GET", path, query=query))  # noqa: B023
            await self._write(found["results"] + found["failed_articles"])
            if found["last_event"] == self._event:
                return
            self._event = found["last_event"]

    async def write_rest(self, api: ApiConnection) -> None:
        """Writes every result that is not written yet, and counts the cancelled pages."""
        batch: list[dict[str, Any]] = []
        async with aclosing(AsyncJob(api, self._job_id).results()) as results:
            async for found in results:
                batch.append(found)
                if len(batch) == PAGE:
                    await self._write(batch)
                    batch = []
        await self._write(batch)

    async def finish(self, api: ApiConnection, ended: Status, *, names: bool = False) -> Written:
        """Writes what is missing when the job has ended. `names`: those of cancelled pages are
        wanted, too."""
        await self.write_new(api)
        counts = (ended.completed, ended.failed)
        if names or counts != (self.written.done, self.written.failed):
            await self.write_rest(api)
        else:
            self.written.cancelled = ended.cancelled
        return self.written

    async def _write(self, results: Results) -> None:
        """Writes in a thread: a reader that takes its time must not hold up the worker."""
        if results:
            await _whole(lambda: self._write_all(results))

    def _write_all(self, results: Results) -> None:
        for found in results:
            page, is_failure = found["article_id"], "error" in found
            if page in self._done or (is_failure and page in self._failed):
                continue
            write_one(found, self._writer, self.written)
            if is_failure:
                self._failed.add(page)
                continue
            self._done.add(page)
            if page in self._failed:  # a failure that was retried meanwhile
                self._failed.discard(page)
                self.written.failed -= 1


async def _whole(work: Callable[[], None]) -> None:
    """Runs the work in a thread, to its end also if the caller is cancelled meanwhile."""
    task = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        task.exception()  # the next write raises it again
        raise


def require_reader() -> None:
    """Ends the command if whoever read standard output is gone, before anything is written."""
    if not hasattr(select, "poll"):
        return
    try:
        standing = select.poll()
        standing.register(sys.stdout.fileno(), 0)
    except (OSError, ValueError):  # standard output is no file
        return
    if any(event & select.POLLERR for _file, event in standing.poll(0)):
        raise typer.Exit(OUTPUT_CLOSED)
