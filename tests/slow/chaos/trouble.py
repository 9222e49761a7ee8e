"""Faults, one after another, at random: workers killed and paused, the database hurt."""

import asyncio
import random
import signal
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence

from chaos.server import Server
from support.processes import Fleet, Process

Fault = Callable[[], Awaitable[None]]


class Trouble:
    def __init__(self, fleet: Fleet, rng: random.Random, also: Sequence[Process] = ()) -> None:
        self._fleet, self._rng = fleet, rng
        self._victims = [*fleet.workers, *also]
        self._paused = asyncio.Lock()
        self.made: Counter[str] = Counter()

    async def last(
        self, seconds: float, faults: list[Fault], *, every: tuple[float, float], least: int = 0
    ) -> None:
        """One fault after another for so long, and so many at least, each dealt as often as it is
        named; pauses go on beside what comes next."""
        ends = time.monotonic() + seconds
        deck: list[Fault] = []
        async with asyncio.TaskGroup() as group:
            while time.monotonic() < ends or self.made.total() < least:
                deck = deck or self._rng.sample(faults, len(faults))
                group.create_task(deck.pop()())
                await asyncio.sleep(self._rng.uniform(*every))
        for process in self._victims:
            if process.status is not None:
                process.start()

    async def kill(self) -> None:
        """kill -9 of a worker; another starts in its place."""
        process = self._any()
        process.kill()
        self.made["kill"] += 1
        process.start()

    async def pause_alone(self) -> None:
        """The same, but for while somebody stands still: on one file, the others can wait for the
        lock of one of them, not of several in turn."""
        if not self._paused.locked():
            async with self._paused:
                await self.pause()

    async def pause(self) -> None:
        """A worker stands still, for a moment or for longer than its lease."""
        process = self._any()
        pid = process.pid
        process.pause()
        seconds = self._rng.choice([
            self._rng.uniform(0.2, 1.0), self._rng.uniform(1.0, self._fleet.lease + 2),
        ])  # fmt: skip
        self.made["pause beyond the lease" if seconds > self._fleet.lease else "pause"] += 1
        await asyncio.sleep(seconds)
        if process.pid == pid:
            process.resume()

    def terminate(self, server: Server, url: str) -> Fault:
        async def backends() -> None:
            database = url.rsplit("/", 1)[1]
            try:
                ended = await server.terminate_some(database, most=self._rng.randint(1, 4))
            except Exception:  # the server itself is away just now
                return
            self.made["backend"] += ended

        return backends

    def bounce(self, server: Server, how: signal.Signals) -> Fault:
        busy = asyncio.Lock()

        async def server_bounced() -> None:
            if not busy.locked():
                async with busy:
                    self.made[f"server {how.name}"] += 1
                    await server.bounce(how)

        return server_bounced

    def _any(self) -> Process:
        return self._rng.choice(self._victims)
