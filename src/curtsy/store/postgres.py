"""PostgreSQL through asyncpg: short statements, bounded waits."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from sqlalchemy import Connection
from sqlalchemy.engine import URL
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from curtsy.store.frozen_sessions import FROZEN_SECONDS
from curtsy.store.loop_thread import LoopThread

T = TypeVar("T")
Work = Callable[[Connection], T]

CONNECT_SECONDS = 2
POOL_WAIT_SECONDS = 2
LARGE_CONNECTIONS = 2
SESSION = {
    "application_name": "curtsy",
    "jit": "off",  # compiling costs more than any of our statements
    "lock_timeout": "15s",
    "statement_timeout": "30s",
    # a frozen process must not hold its locks; see also frozen_sessions.py
    "idle_in_transaction_session_timeout": f"{FROZEN_SECONDS}s",
}


def _arguments(url: URL) -> dict[str, Any]:
    """Returns the options in the query of a URL as arguments for asyncpg."""
    options = {name: v if isinstance(v, str) else v[-1] for name, v in url.query.items()}
    tls = options.pop("sslmode", options.pop("ssl", None))
    timeout = float(options.pop("connect_timeout", CONNECT_SECONDS))
    arguments: dict[str, Any] = {"timeout": timeout, "server_settings": SESSION | options}
    return arguments | ({"ssl": tls} if tls else {})


class PostgresEngine:
    """Transactions are plain functions, so they compute on the event loop between two statements.
    A large transaction has another pool, on an event loop in a thread of its own."""

    def __init__(self, url: URL, *, pool_size: int) -> None:
        self._url = url.set(drivername="postgresql+asyncpg")
        self._pool = _Pool(self._url, pool_size)
        self._large_pool = _Pool(self._url, LARGE_CONNECTIONS)
        self._large_loop = LoopThread("large-transactions")

    async def open(self) -> None:
        self._pool.open()

    async def close(self) -> None:
        await self._pool.close()
        if self._large_loop.is_running:
            await self._large_loop.run(self._large_pool.close())
            await asyncio.to_thread(self._large_loop.stop)

    async def read(self, work: Work[T], *, large: bool) -> T:
        if large:
            return await self._in_thread(lambda pool: pool.read(work))
        return await self._pool.read(work)

    async def write(
        self, work: Work[T], sending_commit: Callable[[], None], *, durable: bool, large: bool
    ) -> T:
        del durable  # synchronous_commit is a setting of the server, and on by default
        if large:
            return await self._in_thread(lambda pool: pool.write(work, sending_commit))
        return await self._pool.write(work, sending_commit)

    async def _in_thread(self, transact: Callable[["_Pool"], Coroutine[Any, Any, T]]) -> T:
        if not self._large_loop.is_running:
            self._large_loop.start()
            self._large_pool.open()
        return await self._large_loop.run(transact(self._large_pool))


class _Pool:
    """Connections that belong to one event loop."""

    def __init__(self, url: URL, size: int) -> None:
        self._url, self._size = url, size
        self._engine: AsyncEngine | None = None

    def open(self) -> None:
        self._engine = create_async_engine(
            self._url.set(query={}),
            pool_size=self._size,
            max_overflow=0,
            pool_timeout=POOL_WAIT_SECONDS,
            pool_use_lifo=True,
            hide_parameters=True,
            connect_args=_arguments(self._url),
        )

    async def close(self) -> None:
        if self._engine is not None:
            await self._engine.dispose()

    def _connect(self) -> AsyncConnection:
        assert self._engine is not None, "the store is used inside `async with`"
        return self._engine.connect()

    async def read(self, work: Work[T]) -> T:
        async with self._connect() as connection:
            await connection.execution_options(isolation_level="AUTOCOMMIT")
            return await connection.run_sync(work)

    async def write(self, work: Work[T], sending_commit: Callable[[], None]) -> T:
        async with self._connect() as connection, connection.begin() as transaction:
            result = await connection.run_sync(work)
            sending_commit()
            await transaction.commit()
            return result
