"""A command with several worker processes, on either engine, and jobs for it."""

import os
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from curtsy.clock import Clock
from curtsy.demo.process import PracticeProcess
from curtsy.jobs import JobRequest, PageRequest, SubmitLimits, Submitter
from curtsy.store import Store
from curtsy.store.wakeups import Wakeups
from support.engine import LOOPBACK, until
from support.patience import PATIENCE
from support.processes import Fleet, Process
from support.sql import run, text

HOSTS = 100
"""More than a worker leases before its slots are full, so that others get some."""
_ITEMS = text("SELECT count(*) FROM items WHERE state = :state")
_WORKERS = text("SELECT DISTINCT worker FROM attempts")
_BUSY = text("SELECT count(*) FROM workers WHERE in_flight <> '[]'")
_numbers = count(1)


@pytest.fixture(scope="session")
def practice() -> Iterator[PracticeProcess]:
    with PracticeProcess(hosts=HOSTS) as site:
        yield site


@pytest.fixture
def fleet(database_url: str, tmp_path: Path) -> Iterator[Fleet]:
    settings = {"worker_processes": 2, "worker_slots": 4, "robots": "ignore"}
    with Fleet(tmp_path, database_url, **settings) as made:
        yield made


@dataclass
class Crew:
    """The processes that one command started, from its log."""

    command: Process

    def pids(self) -> list[int]:
        """Of all processes that were ever started, the oldest first."""
        return [line["pid"] for line in self.command.logged("worker_process_started")]

    def workers(self) -> list[str]:
        return [line["worker"] for line in self.command.logged("worker_started")]

    async def has(self, number: int, event: str = "worker_started") -> None:
        """Waits until the processes have logged so many lines of this name."""

        async def logged() -> bool:
            assert self.command.status is None, self.command.tail()
            return len(self.command.logged(event)) >= number

        await until(logged, PATIENCE, lambda: f"no {event} in {self.command.tail()}")

    async def has_ended(self) -> None:
        async def ended() -> bool:
            return not any(map(lives, self.pids()))

        await until(ended, PATIENCE, lambda: f"some live on: {self.command.tail()}")

    async def exit_code(self) -> int:
        """Waits until the command has ended."""

        async def ended() -> bool:
            return self.command.status is not None

        await until(ended, PATIENCE, lambda: f"it goes on: {self.command.tail()}")
        assert self.command.status is not None
        return self.command.status

    def kill_the_rest(self) -> None:
        for pid in filter(lives, self.pids()):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def lives(pid: int) -> bool:
    """Whether it is a process of curtsy that has not ended; a number may be used again."""
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return b"--place" in command  # that of a process that waits to be collected is empty


@dataclass
class Jobs:
    store: Store
    clock: Clock
    site: PracticeProcess
    wakeups: Wakeups

    async def submit(self, pages: int, *, slow_ms: int = 100) -> None:
        """Pages of all hosts, each of which takes a while."""
        urls = [self.site.url(number % HOSTS, f"/slow/{slow_ms}/{next(_numbers)}")
                for number in range(pages)]  # fmt: skip
        door = Submitter(store=self.store, clock=self.clock, limits=SubmitLimits(allow=LOOPBACK),
                         delay_ms=100, on_submitted=self.wakeups.send)  # fmt: skip
        await door.submit(JobRequest("test", [PageRequest(url) for url in urls]))

    async def done(self) -> int:
        return await self._count(1)

    async def are_done(self, pages: int) -> None:
        async def done() -> bool:
            return await self.done() >= pages

        await until(done, PATIENCE, lambda: f"not {pages} pages are done")
        assert await self.done() == pages
        assert await self._count(0) == 0, "none is left"

    async def workers(self) -> set[str]:
        """Those who fetched pages."""
        return await self.store.read(lambda c: set(run(c, _WORKERS).scalars()))

    async def are_open(self, workers: int) -> None:
        """Waits until so many workers have open requests, by their heartbeats."""

        async def open_at_all() -> bool:
            return await self.store.read(lambda c: run(c, _BUSY).scalar()) == workers

        await until(open_at_all, PATIENCE, lambda: f"not {workers} workers have open requests")

    async def _count(self, state: int) -> int:
        found: Any = await self.store.read(lambda c: run(c, _ITEMS, {"state": state}).scalar())
        return int(found)


@pytest.fixture
async def jobs(store: Store, clock: Clock, practice: PracticeProcess) -> AsyncIterator[Jobs]:
    async with Wakeups(store.url, lambda: None) as wakeups:  # as an API has them
        yield Jobs(store, clock, practice, wakeups)
