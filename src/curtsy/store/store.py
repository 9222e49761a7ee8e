"""The database: runs transactions, which are functions of a connection, on either engine.

A transaction is a plain function, so it can be repeated: after a deadlock, and after a lost
connection as long as its commit was not sent. On PostgreSQL it runs on asyncpg, a large one in a
thread with its own event loop; on SQLite in one writer thread, as BEGIN IMMEDIATE, or in one of a
few reader threads.
"""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self, TypeVar

from curtsy.errors import BadSetting, StoreAway, StoreFull
from curtsy.logs import logger
from curtsy.store.connection import Connection
from curtsy.store.database_errors import to_curtsy_error, verdict
from curtsy.store.database_url import DatabaseUrl, parse_database_url
from curtsy.store.disk_space import FLOOR_BYTES, Reserve, WriteFailures, free_bytes
from curtsy.store.sqlite import SqliteEngine

log = logger("store")

T = TypeVar("T")
Work = Callable[[Connection], T]

TRIES = 6
LONGEST_WAIT_SECONDS = 9.0
"""Who waited so long for the lock of a SQLite file waits no second time."""


class Engine(Protocol):
    """The interface of both engines."""

    async def open(self) -> None: ...
    async def close(self) -> None: ...
    async def read(self, work: Work[T], *, large: bool) -> T: ...
    async def write(
        self, work: Work[T], sending_commit: Callable[[], None], *, durable: bool, large: bool,
        single: bool,
    ) -> T: ...  # fmt: skip
    async def give_back(self, pages: int) -> int: ...
    async def empty_log(self) -> None: ...


def _engine(url: str, parsed: DatabaseUrl, pool_size: int) -> Engine:
    match parsed.scheme:
        case "sqlite":
            return SqliteEngine(parsed)
        case "postgresql":
            from curtsy.store.postgres import PostgresEngine  # a laptop needs no asyncpg

            return PostgresEngine(url, pool_size=pool_size)
        case other:
            raise BadSetting(f"DATABASE_URL names {other}: use sqlite:/// or postgresql://")


class Store:
    def __init__(self, url: str, *, pool_size: int = 10, reserve_bytes: int = 0) -> None:
        """`reserve_bytes`: what new work must leave free on the disk of a SQLite file."""
        self.url = url
        parsed = parse_database_url(url)
        self._engine = _engine(url, parsed, pool_size)
        self._has_answered = False
        """Until then, whoever opened the store says what is wrong."""
        self.is_sqlite = parsed.is_sqlite
        self._file = Path(parsed.database or "") if self.is_sqlite else None
        self._write_failures = WriteFailures()
        self._reserve = Reserve(self._file, reserve_bytes)

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

    async def write(
        self, work: Work[T], *, durable: bool = False, large: bool = False, single: bool = False
    ) -> T:
        """Runs the work as one transaction and commits it.

        `StoreAway` after the commit was sent leaves open whether the commit succeeded: work that
        must not happen twice has to be idempotent. `durable` also waits for the disk on SQLite
        (PostgreSQL always does). `single`: only the last statement of the work writes, so that
        PostgreSQL needs no begin and no commit around it.
        """
        try:
            result = await self._attempt(
                lambda sent: self._engine.write(
                    work, sent, durable=durable, large=large, single=single
                )
            )
        except StoreFull:
            self._write_failures.failed(time.monotonic())
            raise
        self._write_failures.succeeded()
        return result

    async def repeated(self, transact: Callable[[], Awaitable[T]]) -> T:
        """Runs a transaction that the store did not open, with the rules for errors of `write`."""
        return await self._attempt(lambda _sent: transact())

    async def give_back(self, pages: int) -> int:
        """SQLite: returns at most so many free pages of the file to the disk, and the number; 0:
        there are hardly more. The file shrinks at the next checkpoint of its log. PostgreSQL's
        autovacuum does the like by itself."""
        return await self._attempt(lambda _sent: self._engine.give_back(pages))

    async def empty_log(self) -> None:
        """SQLite: writes the log into the file and cuts it, unless somebody reads or writes just
        then."""
        await self._attempt(lambda _sent: self._engine.empty_log())

    async def has_room(self) -> bool:
        """Whether new work may begin; if not, the rest of the disk is for work in progress."""
        return await self._reserve.free_if_missing() is None

    async def require_room(self) -> None:
        """Raises `StoreNearlyFull` where `has_room` is False."""
        await self._reserve.require()

    async def is_full(self) -> bool:
        """Whether the last write failed for want of space, or, on SQLite, the next would."""
        if self._write_failures.is_full(time.monotonic()):
            return True
        if self._file is None:
            return False
        free = await asyncio.to_thread(free_bytes, self._file)
        return free is not None and free < FLOOR_BYTES

    async def _answered(self, work: Awaitable[T]) -> T:
        result = await work
        self._has_answered = True
        return result

    async def _attempt(self, run: Callable[[Callable[[], None]], Awaitable[T]]) -> T:
        broke = False
        for attempt in range(1, TRIES + 1):
            sent, began = asyncio.Event(), time.monotonic()
            try:
                return await self._answered(run(sent.set))
            except Exception as error:
                ours = to_curtsy_error(error, self.url)
                if ours is None:
                    raise
                waited = self.is_sqlite and time.monotonic() - began > LONGEST_WAIT_SECONDS
                may_repeat = (verdict(error) == "again" and not waited) or not (
                    sent.is_set() or broke or waited
                )
                if attempt == TRIES or not isinstance(ours, StoreAway) or not may_repeat:
                    raise ours from error
                broke = broke or verdict(error) == "away"
                report = log.info if self._has_answered else log.debug
                report("transaction_repeated", attempt=attempt, reason=str(ours))
            await asyncio.sleep(random.uniform(0, 0.02 * 2**attempt))
        raise AssertionError("the last attempt returns or raises")
