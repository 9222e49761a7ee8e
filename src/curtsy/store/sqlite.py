"""SQLite: one file in WAL mode, one writer thread, a few readers."""

import asyncio
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from curtsy.batcher import Batcher
from curtsy.errors import BadSetting
from curtsy.privacy import close_to_others, create_private
from curtsy.store.connection import Connection, EngineName
from curtsy.store.database_url import DatabaseUrl
from curtsy.store.result import Result

T = TypeVar("T")
Work = Callable[[Connection], T]

READERS = 4
READS_PER_BATCH = 16
OLDEST_SQLITE = (3, 38, 0)
PREPARED_STATEMENTS = 400
"""How many prepared statements a connection keeps; each row set has several, by its size."""
BUSY_SECONDS = 10
PRAGMAS = (
    f"PRAGMA busy_timeout = {BUSY_SECONDS * 1000}",
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = NORMAL",
    "PRAGMA temp_store = MEMORY",
    "PRAGMA wal_autocheckpoint = 4000",
    "PRAGMA journal_size_limit = 67108864",
)
WRITER_CACHE_KIB, READER_CACHE_KIB = 16 * 1024, 4 * 1024
"""The page cache of a connection; the operating system caches the file too."""
FREE_PAGES_KEPT = 1_000
"""Free pages (4 MiB) that stay in the file: the next pages that are fetched need them."""
INCREMENTAL = 2
"""The value of `auto_vacuum` with which free pages can be returned to the disk a few at a time."""
LOG_WAIT_MS = 50
"""How long a cut of the log waits for those who read: meanwhile nobody can write."""
BEGIN_WRITING, BEGIN_READING = "BEGIN IMMEDIATE", "BEGIN"


class SqliteConnection:
    """One connection to the file."""

    engine: EngineName = "sqlite"

    def __init__(self, raw: sqlite3.Connection) -> None:
        self.raw = raw

    def execute(self, sql: str, arguments: Sequence[Any] = (), /) -> Result:
        cursor = self.raw.execute(sql, arguments)
        rows = cursor.fetchall() if cursor.description is not None else ()
        if not rows:
            return Result((), (), max(0, cursor.rowcount))
        columns = tuple([column[0] for column in cursor.description])
        return Result(rows, columns, cursor.rowcount if cursor.rowcount >= 0 else len(rows))

    @contextmanager
    def transaction(self, begin: str) -> Iterator[None]:
        """Rolls back what was not committed."""
        self.raw.execute(begin)
        try:
            yield
        finally:
            if self.raw.in_transaction:  # SQLite itself has ended it if its disk is full
                self.raw.execute("ROLLBACK")

    def commit(self) -> None:
        self.raw.execute("COMMIT")

    @contextmanager
    def durable(self) -> Iterator[None]:
        """Commits wait for the disk. SQLite ignores this pragma inside a transaction."""
        self.raw.execute("PRAGMA synchronous = FULL")
        try:
            yield
        finally:
            self.raw.execute("PRAGMA synchronous = NORMAL")


def connect(path: str, *, cache_kib: int) -> SqliteConnection:
    raw = sqlite3.connect(
        path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False,
        cached_statements=PREPARED_STATEMENTS,
    )  # fmt: skip
    try:
        if Path(path).stat().st_size == 0:  # later it would take a VACUUM
            raw.execute(f"PRAGMA auto_vacuum = {INCREMENTAL}")
        for pragma in (*PRAGMAS, f"PRAGMA cache_size = -{cache_kib}"):
            raw.execute(pragma)
    except BaseException:
        raw.close()
        raise
    return SqliteConnection(raw)


class SqliteEngine:
    def __init__(self, url: DatabaseUrl) -> None:
        if sqlite3.sqlite_version_info < OLDEST_SQLITE:
            raise BadSetting(
                f"This Python has SQLite {sqlite3.sqlite_version}; curtsy needs 3.38 or newer."
            )
        if not url.database or url.database == ":memory:":
            raise BadSetting("DATABASE_URL names no file: use sqlite:///curtsy.db")
        self._path = Path(url.database)
        self._writer: SqliteConnection | None = None
        self._idle_readers: list[SqliteConnection] = []
        self._writer_thread = ThreadPoolExecutor(1, thread_name_prefix="sqlite-writer")
        self._reader_threads = ThreadPoolExecutor(READERS, thread_name_prefix="sqlite-reader")
        self._read_batcher: Batcher[Work[Any], Any] = Batcher(
            self._read_all, most=READS_PER_BATCH, at_once=READERS
        )

    async def open(self) -> None:
        """Others may not read the file; SQLite gives its log and its index the same permissions."""
        create_private(self._path)
        for ending in ("", "-wal", "-shm"):
            close_to_others(self._path.with_name(self._path.name + ending))

    async def close(self) -> None:
        await asyncio.to_thread(self._close)

    def _close(self) -> None:
        self._reader_threads.shutdown()
        self._writer_thread.shutdown()
        for connection in (*self._idle_readers, self._writer):
            if connection is not None:
                connection.raw.close()
        self._idle_readers, self._writer = [], None

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
        with self._reader() as connection, connection.transaction(BEGIN_READING):
            return [_result_or_error(work, connection) for work in works]

    @contextmanager
    def _reader(self) -> Iterator[SqliteConnection]:
        try:
            connection = self._idle_readers.pop()
        except IndexError:
            connection = connect(str(self._path), cache_kib=READER_CACHE_KIB)
        try:
            yield connection
        finally:
            self._idle_readers.append(connection)

    async def write(
        self, work: Work[T], sending_commit: Callable[[], None], *, durable: bool, large: bool,
        single: bool,
    ) -> T:  # fmt: skip
        del large, single

        def run(writer: SqliteConnection) -> T:
            if durable:
                with writer.durable():
                    return _write(writer, work, sending_commit)
            return _write(writer, work, sending_commit)

        return await self._with_writer(run)

    async def give_back(self, pages: int) -> int:
        return await self._with_writer(lambda writer: _give_back(writer.raw, pages))

    async def empty_log(self) -> None:
        await self._with_writer(lambda writer: _empty_log(writer.raw))

    async def _with_writer(self, run: Callable[[SqliteConnection], T]) -> T:
        def run_in_thread() -> T:
            if self._writer is None:
                self._writer = connect(str(self._path), cache_kib=WRITER_CACHE_KIB)
            return run(self._writer)

        return await asyncio.get_running_loop().run_in_executor(self._writer_thread, run_in_thread)


def _write(connection: SqliteConnection, work: Work[T], sending_commit: Callable[[], None]) -> T:
    with connection.transaction(BEGIN_WRITING):
        result = work(connection)
        sending_commit()
        connection.commit()
        return result


def _give_back(raw: sqlite3.Connection, pages: int) -> int:
    """A file that was made without `auto_vacuum` returns nothing before a VACUUM."""
    if raw.execute("PRAGMA auto_vacuum").fetchone()[0] != INCREMENTAL:
        return 0
    free = int(raw.execute("PRAGMA freelist_count").fetchone()[0])
    number = min(pages, free - FREE_PAGES_KEPT)
    if number > 0:  # as a script: `execute` would stop after the first page
        raw.executescript(f"PRAGMA incremental_vacuum({number})")
    return max(0, number)


def _empty_log(raw: sqlite3.Connection) -> None:
    raw.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()  # most of it, holding up nobody
    raw.execute(f"PRAGMA busy_timeout = {LOG_WAIT_MS}")
    try:
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    finally:
        raw.execute(f"PRAGMA busy_timeout = {BUSY_SECONDS * 1000}")


def _result_or_error(work: Work[Any], connection: Connection) -> Any:
    try:
        return work(connection)
    except Exception as error:
        return error
