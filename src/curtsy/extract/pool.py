"""Runs scrapers in a few child processes at a time, each page within limits of time and memory."""

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
from curtsy.extract.frames import frame_start
from curtsy.model.content_digest import is_digest
from curtsy.model.failure_kinds import Kind
from curtsy.model.link import unpacked
from curtsy.model.outcome import Failed, Record, Reply
from curtsy.scrapers import NAMES
from curtsy.scrapers.registry import OwnScrapers

FORK_SERVER = "curtsy.extract.fork_server"
FORK_SECONDS = 60.0
"""For a fork server to load the scrapers and to fork a child."""
GARBLED = "The scraper disturbed its own process, so its result cannot be used."


@dataclass(frozen=True, slots=True)
class ExtractLimits:
    processes: int = os.cpu_count() or 1
    seconds: float = 20.0
    """For one page; then its child process is killed."""
    memory_bytes: int = 512 * 2**20
    """For one child process, beyond its memory at the fork."""
    pages_per_process: int = 500
    """A child process is replaced after this many pages, with whatever they left in its memory."""
    seconds_per_process: float = 3_600.0
    """A child process that is older is replaced before its next page."""
    keep_below_bytes: int = 384 * 2**20
    """A child process is replaced after a page when its peak memory exceeds this."""


class Pool:
    """Starts no process before `start` or the first page. A page waits while all child processes
    are busy.

    The user's own scrapers have a fork server and slots of their own.
    """

    def __init__(
        self,
        limits: ExtractLimits,
        *,
        fork_server: str = FORK_SERVER,
        own: OwnScrapers | None = None,
    ) -> None:
        self._limits, self._own = limits, own or OwnScrapers()
        start = partial(ForkServerClient, memory_bytes=limits.memory_bytes, module=fork_server)
        self._built_in_group = ChildGroup(
            start, pages_per_process=limits.pages_per_process,
            seconds_per_process=limits.seconds_per_process,
            keep_below_bytes=limits.keep_below_bytes,
        )  # fmt: skip
        # One page per process: a page may change the process, and the next must not notice.
        self._own_group = ChildGroup(
            partial(start, own=self._own), pages_per_process=1,
            seconds_per_process=limits.seconds_per_process,
            keep_below_bytes=limits.keep_below_bytes,
        )  # fmt: skip
        # Slots per group: own scrapers that hang must not block the built-in ones.
        self._slots = {
            group: FairSlots(limits.processes) for group in (self._built_in_group, self._own_group)
        }

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await asyncio.gather(self._built_in_group.close(), self._own_group.close())

    def knows(self, scraper: str) -> bool:
        return scraper in NAMES or scraper in self._own.docs

    async def extract(
        self, scraper: str, reply: Reply, *, links: bool = False,
        params: Mapping[str, Any] | None = None, chosen: bool = False,
    ) -> Record | Failed:  # fmt: skip
        """Returns the scraper's record of the page, or the failure.

        `params` are the scraper's parameters. With `links` the record also has the page's links;
        with `chosen` only those that the scraper chose.
        """
        start = frame_start(
            {
                "scraper": scraper,
                "status": reply.status,
                "url": reply.url,
                "asked_url": reply.asked_url,
                "headers": reply.headers,
                "links": links,
                "chosen": chosen,
                "params": params or {},
            },
            reply.body,
        )
        group = self._group(scraper)
        async with self._slots[group].slot():
            acquired = await self._acquire(group)
            if isinstance(acquired, Failed):
                return acquired
            return await self._scrape(group, *acquired, (start, reply.body))

    def servers(self) -> list[int]:
        """The process ids of the fork servers that run."""
        clients = (self._built_in_group.client, self._own_group.client)
        return [client.pid for client in clients if client is not None and not client.gone]

    def start(self, scraper: str) -> None:
        """Starts the fork server of a known scraper, unless one was started before. Returns at
        once: the server loads the scrapers while the first page is being fetched."""
        if self.knows(scraper):
            self._group(scraper).start()

    async def prepare(self, scraper: str) -> None:
        """Forks a child process ahead of the first page. May fail silently."""
        group = self._group(scraper)
        acquired = await self._acquire(group)
        if not isinstance(acquired, Failed):
            group.add_idle(acquired[1])

    def _group(self, scraper: str) -> ChildGroup:
        return self._own_group if scraper in self._own.docs else self._built_in_group

    async def _acquire(self, group: ChildGroup) -> tuple[ForkServerClient, ChildProcess] | Failed:
        try:
            async with asyncio.timeout(FORK_SECONDS):
                return await group.acquire()
        except ForkServerGone as gone:
            return Failed(Kind.INTERNAL, f"{gone} The page is retried.")
        except TimeoutError:
            if group.client is not None:
                group.client.kill()
            sentence = f"The scrapers could not be loaded within {FORK_SECONDS:g} s."
            return Failed(Kind.EXTRACT_TIMEOUT, sentence)

    async def _scrape(
        self,
        group: ChildGroup,
        client: ForkServerClient,
        child: ChildProcess,
        request: tuple[bytes, bytes],
    ) -> Record | Failed:
        try:
            async with asyncio.timeout(self._limits.seconds):
                header, body = await child.scrape(*request)
        except TimeoutError:
            client.kill_child(child)
            sentence = f"The scraper was not done with the page after {self._limits.seconds:g} s."
            return Failed(Kind.EXTRACT_TIMEOUT, sentence)
        except ChildGone as gone:
            child.close()
            return _failure_of_exit(gone.status)
        except Garbled:
            client.kill_child(child)
            return Failed(Kind.EXTRACT_FAILED, GARBLED)
        except BaseException:
            client.kill_child(child)
            raise
        try:
            outcome = _outcome(header, body)
            group.release(client, child, header)
        except (LookupError, TypeError, ValueError, AttributeError):
            client.kill_child(child)
            return Failed(Kind.EXTRACT_FAILED, GARBLED)
        return outcome


def _outcome(header: dict[str, Any], body: bytes) -> Record | Failed:
    """Raises one of several exceptions when the answer is garbled."""
    lines = tuple((level, _storable(text)) for level, text in header["lines"])
    if "kind" in header:
        trace = header["traceback"]
        return Failed(Kind(header["kind"]), _storable(header["error"]),
                      traceback=None if trace is None else _storable(trace),
                      memory=header["peak"], lines=lines)  # fmt: skip
    links, digest = header["links"], header["digest"]
    if not (digest is None or is_digest(digest)):
        raise ValueError(digest)
    return Record(
        body, header["content_type"], header["charset"], header["peak"],
        links=None if links is None else unpacked(links), lines=lines, digest=digest,
    )  # fmt: skip


def _storable(text: str) -> str:
    """Removes NUL characters, which PostgreSQL cannot store in text."""
    return text.replace("\0", "")


def _failure_of_exit(status: int | None) -> Failed:
    if status is None:
        return Failed(Kind.INTERNAL, "The scraper process ended together with its fork server.")
    if status in (OUT_OF_MEMORY, -signal.SIGKILL):  # our own kills are reported elsewhere
        return Failed(Kind.EXTRACT_MEMORY, "The scraper exceeded its memory limit.")
    return Failed(Kind.EXTRACT_FAILED, f"The page crashed the scraper ({_exit_text(status)}).")


def _exit_text(status: int) -> str:
    if status >= 0:
        return f"status {status}"
    named = {sign.value: sign.name for sign in signal.Signals}
    return named.get(-status, f"signal {-status}")  # most real-time signals have no name
