"""A job as a program holds it: ask how it stands, wait for it, read what it found."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from curtsy.client.event_stream import Message, follow, pages
from curtsy.client.http import ApiConnection
from curtsy.client.retries import FIRST_PAUSE, Patience, Until
from curtsy.model.jobs import OPEN_STATES

LONGEST_LOOK = 0.5
"""Seconds between two looks at a job that is waited for; the first come sooner."""
PAGE = 200
"""Results are read so many at a time."""


@dataclass(frozen=True, slots=True)
class Status:
    """How a job stands; `door_says` is the answer as it came, in the words of the job's door."""

    state: str
    door_says: dict[str, Any]

    def __str__(self) -> str:
        return str(self.door_says["status"])

    @property
    def is_over(self) -> bool:
        return self.state not in OPEN_STATES

    @property
    def is_run(self) -> bool:
        """Of a site: what it found are records."""
        return bool(self.door_says["door"] == "runs")

    @property
    def completed(self) -> int:
        return self._said("completed", "completed_pages", otherwise=self.state == "succeeded")

    @property
    def failed(self) -> int:
        return self._said("failed", "errors_count", otherwise=self.state == "failed")

    @property
    def cancelled(self) -> int:
        return self._said("cancelled", otherwise=self.state == "cancelled")

    @property
    def total(self) -> int:
        """A crawl finds more as it goes."""
        return self._said("total_articles", "total_pages", "requested_pages", otherwise=1)

    def _said(self, *names: str, otherwise: int) -> int:
        """Each door has its own name for it, or a single page."""
        says = self.door_says
        return int(next((says[name] for name in names if name in says), otherwise))


Progress = Callable[[Status], None]


class AsyncJob:
    def __init__(self, talk: ApiConnection, job_id: str) -> None:
        self.id = job_id
        self._talk = talk

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.id!r})"

    async def status(self) -> Status:
        says = await self._talk.ask("GET", f"/jobs/{self.id}/status")
        return Status(says["state"], says)

    async def why(self) -> dict[str, Any]:
        """What it waits for, until when, and what would free it."""
        why: dict[str, Any] = await self._talk.ask("GET", f"/jobs/{self.id}/why")
        return why

    async def wait(
        self, timeout: float | None = None, *, progress: Progress | None = None
    ) -> Status:
        """Until it has ended; `progress` is told how it stands whenever that was looked at.

        A store that is away meanwhile comes back, and so does a server that was there before.
        """
        async with aclosing(self.looks(timeout)) as looks:
            async for status in looks:
                if progress is not None:
                    progress(status)
        return status

    async def looks(self, timeout: float | None = None) -> AsyncGenerator[Status]:
        """How it stands, again and again, until it has ended."""
        patience, until = Patience(self._talk, timeout=timeout), Until(timeout, self.id)
        pause = FIRST_PAUSE
        while True:
            status = await until.comes(patience.ask(self.status))
            yield status
            if status.is_over:
                return
            await until.comes(asyncio.sleep(pause))
            pause = min(pause * 1.5, LONGEST_LOOK)

    async def results(self) -> AsyncGenerator[dict[str, Any]]:
        """What there is so far, in order, a page at a time; failures have `error`. Of a run of a
        site, the records that it found."""
        patience = Patience(self._talk)
        status = await patience.ask(self.status)
        read = self._records if status.is_run else self._pages
        async with aclosing(read(patience)) as found:
            async for one in found:
                yield one

    async def _records(self, patience: Patience) -> AsyncGenerator[dict[str, Any]]:
        run = await patience.ask(lambda: self._talk.ask("GET", f"/jobs/scrape/{self.id}"))
        for record in run["data"]["results"]:
            yield record

    async def _pages(self, patience: Patience) -> AsyncGenerator[dict[str, Any]]:
        path, query = f"/jobs/{self.id}/results", {"limit": PAGE, "cursor": None}
        while True:
            page = await patience.ask(lambda: self._talk.ask("GET", path, query=query))  # noqa: B023
            for found in page["results"] + page["failed_articles"]:
                yield found
            if page.get("next_cursor") is None:
                return
            query = query | {"cursor": page["next_cursor"]}

    async def get(self, timeout: float | None = None) -> list[dict[str, Any]]:
        """Wait for its end, then all results and failures."""
        await self.wait(timeout)
        return [found async for found in self.results()]

    async def events(
        self, after: int = 0, *, timeout: float | None = None
    ) -> AsyncGenerator[Message]:
        """Every change, once and in order, until the job has ended; comes back when cut off."""
        last, patience = after, Patience(self._talk, timeout=timeout)
        until = Until(timeout, self.id)
        while True:
            path = f"/ws/jobs/{self.id}"
            async with aclosing(follow(self._talk, path, last, patience)) as messages:
                while (told := await until.comes(anext(messages)))["event"] != "job_finished":
                    if told["event"] != "state":
                        last = told["seq"]
                        yield told
                    elif told["state"] not in OPEN_STATES and told["last_seq"] <= last:
                        return
            last = told["seq"]
            yield told  # and how it stands then says whether its failures are tried again

    async def logs(self, *, follow: bool = False) -> AsyncGenerator[dict[str, str]]:
        """Its log so far, or until it has ended: lines with `ts`, `level` and `msg`."""
        async with aclosing(pages(self._talk, f"/jobs/{self.id}/logs")) as found:
            async for page in found:
                for line in page["lines"]:
                    yield line
                if page["ended"] or not (follow or page["lines"]):
                    return

    async def cancel(self) -> str:
        """What the API says of it."""
        return await self._tell("DELETE")

    async def purge(self) -> str:
        """It is forgotten, with all data that no other job has."""
        return await self._tell("DELETE", purge="true")

    async def retry(self) -> str:
        return await self._tell("POST", "/retry")

    async def pause(self) -> str:
        return await self._tell("POST", "/pause")

    async def resume(self) -> str:
        return await self._tell("POST", "/resume")

    async def _tell(self, method: str, what: str = "", **query: str) -> str:
        said = await self._talk.ask(method, f"/jobs/{self.id}{what}", query=query)
        return str(said["message"])
