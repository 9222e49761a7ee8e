"""The PostgreSQL of the chaos tests: stopped, killed, frozen and started while a loop runs."""

import asyncio
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

import asyncpg
import psutil

from support.postgres import Postgres


class Server(Postgres):
    _waits = True

    def _wait_until_ready(self) -> None:
        if self._waits:
            super()._wait_until_ready()

    async def bounce(self, how: signal.Signals) -> None:
        """Stop it this way and start it again; returns when it answers."""
        await asyncio.to_thread(self.stop, how)
        await self.start_again()

    async def start_again(self) -> None:
        """Returns when it answers."""
        self._waits = False
        try:
            self.start()  # here, not in a thread: the system ends it with the thread that made it
        finally:
            self._waits = True
        await self.answers()

    async def answers(self) -> None:
        async with asyncio.timeout(30):
            while True:
                try:
                    connection = await asyncpg.connect(self.url("postgres"), timeout=2)
                except (OSError, asyncpg.PostgresError, TimeoutError):
                    await asyncio.sleep(0.05)
                else:
                    await connection.close()
                    return

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Every process of the server stands still."""
        assert self._process is not None
        first = psutil.Process(self._process.pid)
        pids = [first.pid, *(child.pid for child in first.children(recursive=True))]
        try:
            for pid in pids:
                os.kill(pid, signal.SIGSTOP)
            yield
        finally:
            for pid in pids:
                os.kill(pid, signal.SIGCONT)

    async def terminate_some(self, database: str, *, most: int) -> int:
        """End backends of curtsy that work on this database, whatever they are at."""
        connection = await asyncpg.connect(self.url("postgres"), timeout=2)
        try:
            ended = await connection.fetch(
                """
                SELECT pg_terminate_backend(pid) FROM (
                    SELECT pid FROM pg_stat_activity WHERE datname = $1
                    ORDER BY random() LIMIT $2) AS chosen
                """,
                database,
                most,
            )
        finally:
            await connection.close()
        return len(ended)
