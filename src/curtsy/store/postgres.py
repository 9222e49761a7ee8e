"""PostgreSQL through asyncpg: short statements, bounded waits."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from curtsy.store.connection import Connection
from curtsy.store.greenlet_bridge import run_in_greenlet
from curtsy.store.loop_thread import LoopThread
from curtsy.store.postgres_pool import PostgresPool
from curtsy.store.postgres_servers import servers_of

T = TypeVar("T")
Work = Callable[[Connection], T]
Commit = Callable[[], None]

LARGE_CONNECTIONS = 2


class PostgresEngine:
    """Transactions are plain functions, so they compute on the event loop between two statements.
    A large transaction has another pool, on an event loop in a thread of its own."""

    def __init__(self, url: str, *, pool_size: int) -> None:
        servers = servers_of(url)
        self._pool = PostgresPool(servers, pool_size)
        self._large_pool = PostgresPool(servers, LARGE_CONNECTIONS)
        self._large_loop = LoopThread("large-transactions")

    async def open(self) -> None:
        """Connects at the first statement."""

    async def close(self) -> None:
        await self._pool.close()
        if self._large_loop.is_running:
            await self._large_loop.run(self._large_pool.close())
            await asyncio.to_thread(self._large_loop.stop)

    async def read(self, work: Work[T], *, large: bool) -> T:
        if large:
            return await self._in_thread(lambda pool: _read(pool, work))
        return await _read(self._pool, work)

    async def write(
        self, work: Work[T], sending_commit: Commit, *, durable: bool, large: bool, single: bool
    ) -> T:
        del durable  # synchronous_commit is a setting of the server, and on by default
        if single:
            sending_commit()  # each statement commits itself
            return await _read(self._pool, work)
        if large:
            return await self._in_thread(lambda pool: _write(pool, work, sending_commit))
        return await _write(self._pool, work, sending_commit)

    async def give_back(self, pages: int) -> int:
        del pages  # autovacuum does
        return 0

    async def empty_log(self) -> None:
        """The server's checkpointer does."""

    async def _in_thread(self, transact: Callable[[PostgresPool], Coroutine[Any, Any, T]]) -> T:
        if not self._large_loop.is_running:
            self._large_loop.start()
        return await self._large_loop.run(transact(self._large_pool))


async def _read(pool: PostgresPool, work: Work[T]) -> T:
    """Each statement is a transaction of its own."""
    async with pool.connection() as connection:
        return await run_in_greenlet(work, connection)


async def _write(pool: PostgresPool, work: Work[T], sending_commit: Commit) -> T:
    async with pool.connection() as connection:
        await connection.raw.execute("BEGIN")
        result = await run_in_greenlet(work, connection)
        sending_commit()
        await connection.commit()
        return result
