"""SQLite: one file in WAL mode, one writer thread, a few readers."""

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from sqlalchemy import Connection, create_engine, event
from sqlalchemy import Engine as SqlEngine
from sqlalchemy.engine import URL
from sqlalchemy.pool import QueuePool

from curtsy.batcher import Batcher
from curtsy.errors import BadSetting

T = TypeVar("T")
Work = Callable[[Connection], T]

READERS = 4
READS_PER_BATCH = 16
OLDEST_SQLITE = (3, 38, 0)
PRAGMAS = (
    "PRAGMA busy_timeout = 10000",
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = NORMAL",
    "PRAGMA temp_store = MEMORY",
    "PRAGMA wal_autocheckpoint = 4000",
    "PRAGMA journal_size_limit = 67108864",
)
WRITER_CACHE_KIB, READER_CACHE_KIB = 16 * 1024, 4 * 1024
"""The page cache of a connection; the operating system caches the file too."""
BEGIN_WRITING = "BEGIN IMMEDIATE"


class SqliteEngine:
    def __init__(self, url: URL) -> None:
        if sqlite3.sqlite_version_info < OLDEST_SQLITE:
            raise BadSetting(
                f"This Python has SQLite {sqlite3.sqlite_version}; curtsy needs 3.38 or newer."
            )
        if not url.database or url.database == ":memory:":
            raise BadSetting("DATABASE_URL names no file: use sqlite:///curtsy.db")
        self._url = url.set(drivername="sqlite+pysqlite")
        self._writer: SqlEngine | None = None
        self._reader: SqlEngine | None = None
        self._writer_thread = ThreadPoolExecutor(1, thread_name_prefix="sqlite-writer")
        self._reader_threads = ThreadPoolExecutor(READERS, thread_name_prefix="sqlite-reader")
        self._read_batcher: Batcher[Work[Any], Any] = Batcher(
            self._read_all, most=READS_PER_BATCH, at_once=READERS
        )

    async def open(self) -> None:
        self._writer = _engine(self._url, begin=BEGIN_WRITING, size=1, cache_kib=WRITER_CACHE_KIB)
        self._reader = _engine(self._url, begin="BEGIN", size=READERS, cache_kib=READER_CACHE_KIB)

    async def close(self) -> None:
        await asyncio.to_thread(self._close)

    def _close(self) -> None:
        self._reader_threads.shutdown()
        self._writer_thread.shutdown()
        for engine in (self._reader, self._writer):
            if engine is not None:
                engine.dispose()

    async def read(self, work: Work[T], *, large: bool) -> T:
        """Runs waiting reads together: switching to a thread costs more than most reads."""
        del large  # every transaction runs in a thread
        result: T = await self._read_batcher.submit(work)
        return result

    async def _read_all(self, works: Sequence[Work[Any]]) -> Sequence[Any]:
        return await asyncio.get_running_loop().run_in_executor(
            self._reader_threads, self._read, works
        )

    def _read(self, works: Sequence[Work[Any]]) -> list[Any]:
        assert self._reader is not None, "the store is used inside `async with`"
        with self._reader.connect() as connection:
            return [_result_or_error(work, connection) for work in works]

    async def write(
        self, work: Work[T], sending_commit: Callable[[], None], *, durable: bool, large: bool
    ) -> T:
        del large

        def run() -> T:
            assert self._writer is not None, "the store is used inside `async with`"
            with self._writer.connect() as connection:
                if durable:
                    _synchronous(connection, "FULL")
                try:
                    with connection.begin() as transaction:
                        result = work(connection)
                        sending_commit()
                        transaction.commit()
                        return result
                finally:
                    if durable:
                        _synchronous(connection, "NORMAL")

        return await asyncio.get_running_loop().run_in_executor(self._writer_thread, run)


def _result_or_error(work: Work[Any], connection: Connection) -> Any:
    try:
        return work(connection)
    except Exception as error:
        return error


def _synchronous(connection: Connection, mode: str) -> None:
    """Must run outside a transaction: SQLite ignores this pragma inside one."""
    raw: Any = connection.connection.dbapi_connection
    raw.execute(f"PRAGMA synchronous = {mode}")


def _engine(url: URL, *, begin: str, size: int, cache_kib: int) -> SqlEngine:
    engine = create_engine(
        url,
        poolclass=QueuePool,
        pool_size=size,
        max_overflow=0,
        connect_args={"timeout": 10},
        hide_parameters=True,
    )

    @event.listens_for(engine, "connect")
    def _prepare(raw: sqlite3.Connection, _record: Any) -> None:
        raw.isolation_level = None  # transactions begin explicitly, in `_begin`
        for pragma in PRAGMAS:
            raw.execute(pragma)
        raw.execute(f"PRAGMA cache_size = -{cache_kib}")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        connection.exec_driver_sql(begin)

    return engine
