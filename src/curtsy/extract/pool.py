"""A few children read pages side by side; each page has so much time and memory, and no more."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from curtsy.extract.child import OUT_OF_MEMORY
from curtsy.extract.frames import frame
from curtsy.extract.link import Link, NurseryGone
from curtsy.extract.reader import Reader, ReaderGone
from curtsy.model.kinds import Kind
from curtsy.model.outcome import Failed, Record, Reply

NURSERY = "curtsy.extract.nursery"
ASIDE_AFTER_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class ExtractLimits:
    processes: int = os.cpu_count() or 1
    seconds: float = 20.0
    """For one page; then its child is killed."""
    memory_bytes: int = 512 * 2**20
    """For one child, beyond what it is born with."""
    pages_per_process: int = 500
    """After so many it is replaced: what earlier pages left behind goes with it."""
    keep_below_bytes: int = 384 * 2**20
    """A child whose memory once was above this is replaced after the page."""


class Pool:
    """Starts nothing before the first page. A page waits here while all children are busy.

    One that takes long steps aside, so that a few of them cannot hold up everybody: as many again
    may be read beside the others.
    """

    def __init__(self, limits: ExtractLimits, *, nursery: str = NURSERY) -> None:
        self._limits, self._nursery = limits, nursery
        self._places = asyncio.Semaphore(limits.processes)
        self._aside = limits.processes
        self._link: Link | None = None
        self._idle: list[Reader] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._link is not None:
            await self._link.close()

    async def extract(self, scraper: str, reply: Reply, *, links: bool = False) -> Record | Failed:
        """What the scraper makes of the page, or what the page made of the scraper.

        With `links` also where the page leads.
        """
        question = frame(
            {
                "scraper": scraper,
                "status": reply.status,
                "url": reply.url,
                "headers": reply.headers,
                "links": links,
            },
            reply.body,
        )
        async with self._place():
            try:
                link, reader = await self._reader()
            except NurseryGone as gone:
                return Failed(Kind.INTERNAL, f"{gone} It is tried again.")
            return await self._read(link, reader, question)

    @asynccontextmanager
    async def _place(self) -> AsyncIterator[None]:
        is_aside = False

        def step_aside() -> None:
            nonlocal is_aside
            if self._aside > 0:
                is_aside = True
                self._aside -= 1
                self._places.release()

        await self._places.acquire()
        later = asyncio.get_running_loop().call_later(ASIDE_AFTER_SECONDS, step_aside)
        try:
            yield
        finally:
            later.cancel()
            if is_aside:
                self._aside += 1
            else:
                self._places.release()

    async def _reader(self) -> tuple[Link, Reader]:
        link = self._link
        if link is None or link.gone:
            # In one step: others who find it gone must not make a nursery each.
            gone, self._link = (
                link,
                Link(memory_bytes=self._limits.memory_bytes, nursery=self._nursery),
            )
            link = self._link
            self._idle.clear()
            if gone is not None:
                await gone.close()
        while self._idle:
            if (reader := self._idle.pop()).usable:
                return link, reader
        return link, await link.make()

    async def _read(self, link: Link, reader: Reader, question: bytes) -> Record | Failed:
        try:
            async with asyncio.timeout(self._limits.seconds):
                header, body = await reader.read(question)
        except TimeoutError:
            link.end(reader)
            sentence = f"The scraper was not done with the page after {self._limits.seconds:g} s."
            return Failed(Kind.EXTRACT_TIMEOUT, sentence)
        except ReaderGone as gone:
            reader.close()
            return _cause_of_death(gone.status)
        except BaseException:
            link.end(reader)
            raise
        self._keep(reader, header)
        if "kind" in header:
            return Failed(Kind(header["kind"]), header["error"], traceback=header["traceback"],
                          memory=header["peak"])  # fmt: skip
        links = header["links"]
        return Record(
            body, header["content_type"], header["charset"], header["peak"],
            links=None if links is None else tuple(links),
            lines=tuple((level, text) for level, text in header["lines"]),
        )  # fmt: skip

    def _keep(self, reader: Reader, header: dict[str, Any]) -> None:
        """Or let it go: closing its channel ends it."""
        spent = (
            reader.pages >= self._limits.pages_per_process
            or header["peak"] > self._limits.keep_below_bytes
            or header.get("kind") == Kind.EXTRACT_MEMORY
        )
        if spent:
            reader.close()
        else:
            self._idle.append(reader)


def _cause_of_death(status: int | None) -> Failed:
    if status is None:
        return Failed(Kind.INTERNAL, "The page's reader ended with the process that made it.")
    if status in (OUT_OF_MEMORY, -signal.SIGKILL):  # we kill only those that we gave up before
        return Failed(Kind.EXTRACT_MEMORY, "The scraper needed more memory than it may have.")
    how = signal.Signals(-status).name if status < 0 else f"status {status}"
    return Failed(Kind.EXTRACT_FAILED, f"The page crashed the scraper ({how}).")
