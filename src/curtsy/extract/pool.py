"""A few children read pages side by side; each page has so much time and memory, and no more."""

import asyncio
import os
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Any, Self

from curtsy.extract.child_group import ChildGroup
from curtsy.extract.child_main import OUT_OF_MEMORY
from curtsy.extract.child_process import ChildGone, ChildProcess, Garbled
from curtsy.extract.fair_slots import FairSlots
from curtsy.extract.fork_server_client import ForkServerClient, ForkServerGone
from curtsy.extract.frames import frame
from curtsy.model.failure_kinds import Kind
from curtsy.model.outcome import Failed, Record, Reply
from curtsy.scrapers import NAMES
from curtsy.scrapers.registry import OwnScrapers

NURSERY = "curtsy.extract.fork_server"
DISTURBED = "The scraper disturbed the process that ran it: what came back is no answer."
NURSERY_SECONDS = 60.0
"""Until it has loaded the scrapers and made a child."""


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
    """Starts nothing before the first page. A page waits here while all children are busy; those
    for scrapers of your own are counted apart."""

    def __init__(
        self, limits: ExtractLimits, *, nursery: str = NURSERY, own: OwnScrapers | None = None
    ) -> None:
        self._limits, self._own = limits, own or OwnScrapers()
        start = partial(ForkServerClient, memory_bytes=limits.memory_bytes, nursery=nursery)
        self._built_in = ChildGroup(start, pages_per_process=limits.pages_per_process,
                               keep_below_bytes=limits.keep_below_bytes)  # fmt: skip
        # What one page has made of the process must not be met by the next.
        self._of_own = ChildGroup(partial(start, own=self._own.files), pages_per_process=1,
                             keep_below_bytes=limits.keep_below_bytes)  # fmt: skip
        # Those whose scraper hangs must not hold up everybody else's.
        self._places = {
            brood: FairSlots(limits.processes) for brood in (self._built_in, self._of_own)
        }

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await asyncio.gather(self._built_in.close(), self._of_own.close())

    def knows(self, scraper: str) -> bool:
        return scraper in NAMES or scraper in self._own.docs

    async def extract(
        self, scraper: str, reply: Reply, *, links: bool = False,
        params: Mapping[str, Any] | None = None, chosen: bool = False,
    ) -> Record | Failed:  # fmt: skip
        """What the scraper makes of the page, or what the page made of the scraper.

        With `links` also where the page leads; `chosen`: only as far as the scraper says so.
        `params` are what the scraper is told beside it.
        """
        question = frame(
            {
                "scraper": scraper,
                "status": reply.status,
                "url": reply.url,
                "headers": reply.headers,
                "links": links,
                "chosen": chosen,
                "params": params or {},
            },
            reply.body,
        )
        brood = self._brood(scraper)
        async with self._places[brood].one():
            made = await self._reader(brood)
            return made if isinstance(made, Failed) else await self._read(brood, *made, question)

    async def prepare(self, scraper: str) -> None:
        """Have a child ready for it, so that the first page need not wait. It may fail then."""
        made = await self._reader(self._brood(scraper))
        if not isinstance(made, Failed):
            self._brood(scraper).lay_by(made[1])

    def _brood(self, scraper: str) -> ChildGroup:
        return self._of_own if scraper in self._own.docs else self._built_in

    async def _reader(self, brood: ChildGroup) -> tuple[ForkServerClient, ChildProcess] | Failed:
        try:
            async with asyncio.timeout(NURSERY_SECONDS):
                return await brood.reader()
        except ForkServerGone as gone:
            return Failed(Kind.INTERNAL, f"{gone} It is tried again.")
        except TimeoutError:
            if brood.link is not None:
                brood.link.kill()
            sentence = f"The scrapers could not be loaded within {NURSERY_SECONDS:g} s."
            return Failed(Kind.EXTRACT_TIMEOUT, sentence)

    async def _read(
        self, brood: ChildGroup, link: ForkServerClient, reader: ChildProcess, question: bytes
    ) -> Record | Failed:
        try:
            async with asyncio.timeout(self._limits.seconds):
                header, body = await reader.read(question)
        except TimeoutError:
            link.end(reader)
            sentence = f"The scraper was not done with the page after {self._limits.seconds:g} s."
            return Failed(Kind.EXTRACT_TIMEOUT, sentence)
        except ChildGone as gone:
            reader.close()
            return _cause_of_death(gone.status)
        except Garbled:
            link.end(reader)
            return Failed(Kind.EXTRACT_FAILED, DISTURBED)
        except BaseException:
            link.end(reader)
            raise
        try:
            outcome = _outcome(header, body)
            brood.keep(link, reader, header)
        except (LookupError, TypeError, ValueError, AttributeError):
            link.end(reader)
            return Failed(Kind.EXTRACT_FAILED, DISTURBED)
        return outcome


def _outcome(header: dict[str, Any], body: bytes) -> Record | Failed:
    """Raises something where the answer is not one of ours."""
    lines = tuple((level, _storable(text)) for level, text in header["lines"])
    if "kind" in header:
        trace = header["traceback"]
        return Failed(Kind(header["kind"]), _storable(header["error"]),
                      traceback=None if trace is None else _storable(trace),
                      memory=header["peak"], lines=lines)  # fmt: skip
    links = header["links"]
    return Record(
        body, header["content_type"], header["charset"], header["peak"],
        links=None if links is None else tuple(links), lines=lines,
    )  # fmt: skip


def _storable(text: str) -> str:
    """PostgreSQL has no text with the character of number zero."""
    return text.replace("\0", "")


def _cause_of_death(status: int | None) -> Failed:
    if status is None:
        return Failed(Kind.INTERNAL, "The page's reader ended with the process that made it.")
    if status in (OUT_OF_MEMORY, -signal.SIGKILL):  # we kill only those that we gave up before
        return Failed(Kind.EXTRACT_MEMORY, "The scraper needed more memory than it may have.")
    return Failed(Kind.EXTRACT_FAILED, f"The page crashed the scraper ({_how(status)}).")


def _how(status: int) -> str:
    if status >= 0:
        return f"status {status}"
    named = {sign.value: sign.name for sign in signal.Signals}
    return named.get(-status, f"signal {-status}")  # most real-time signals have no name
