"""The database: runs transactions, which are functions of a connection, on either engine.

A transaction is a plain function, so it can be repeated: after a deadlock, and after a lost
connection as long as its commit was not sent. On PostgreSQL it runs on asyncpg, a large one in a
thread with its own event loop; on SQLite in one writer thread, as BEGIN IMMEDIATE, or in one of a
few reader threads.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Protocol, Self, TypeVar

from sqlalchemy import Connection
from sqlalchemy.engine import make_url

from curtsy.errors import BadSetting, StoreAway
from curtsy.logs import logger
from curtsy.store.database_errors import to_curtsy_error, verdict
from curtsy.store.postgres import PostgresEngine
from curtsy.store.sqlite import SqliteEngine

log = logger("store")

T = TypeVar("T")
Work = Callable[[Connection], T]

TRIES = 6


class Engine(Protocol):
    """The interface of both engines."""

    async def open(self) -> None: ...
    async def close(self) -> None: ...
    async def read(self, work: Work[T], *, large: bool) -> T: ...
    async def write(
        self, work: Work[T], sending_commit: Callable[[], None], *, durable: bool, large: bool
    ) -> T: ...


class Store:
    def __init__(self, url: str, *, pool_size: int = 10) -> None:
        self.url = url
        parsed = make_url(url)
        match parsed.get_backend_name():
            case "sqlite":
                self._engine: Engine = SqliteEngine(parsed)
            case "postgresql":
                self._engine = PostgresEngine(parsed, pool_size=pool_size)
            case other:
                raise BadSetting(f"DATABASE_URL names {other}: use sqlite:/// or postgresql://")
        self.is_sqlite = parsed.get_backend_name() == "sqlite"

    async def __aenter__(self) -> Self:
        await self._engine.open()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._engine.close()

    async def read(self, work: Work[T], *, large: bool = False) -> T:
        """Runs the work on a connection for reading; repeats it once if the connection broke.

        `large` is for work that computes on many rows: it stays off the event loop.
        """
        return await self._attempt(lambda _sent: self._engine.read(work, large=large))

    async def write(self, work: Work[T], *, durable: bool = False, large: bool = False) -> T:
        """Runs the work as one transaction and commits it.

        `StoreAway` after the commit was sent leaves open whether the commit succeeded: work that
        must not happen twice has to be idempotent. `durable` also waits for the disk on SQLite
        (PostgreSQL always does).
        """
        return await self._attempt(
            lambda sent: self._engine.write(work, sent, durable=durable, large=large)
        )

    async def _attempt(self, run: Callable[[Callable[[], None]], Awaitable[T]]) -> T:
        broke = False
        for attempt in range(1, TRIES + 1):
            sent = asyncio.Event()
            try:
                return await run(sent.set)
            except Exception as error:
                ours = to_curtsy_error(error)
                if ours is None:
                    raise
                may_repeat = verdict(error) == "again" or (not sent.is_set() and not broke)
                if attempt == TRIES or not isinstance(ours, StoreAway) or not may_repeat:
                    raise ours from error
                broke = broke or verdict(error) == "away"
                log.info("transaction_repeated", attempt=attempt, reason=str(ours))
            await asyncio.sleep(random.uniform(0, 0.02 * 2**attempt))
        raise AssertionError("the last attempt returns or raises")
