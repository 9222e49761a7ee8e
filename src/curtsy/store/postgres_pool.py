"""Connections to PostgreSQL, for one event loop: few, kept open, the last used one first."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

import asyncpg
from asyncpg.prepared_stmt import PreparedStatement

from curtsy.store.connection import EngineName
from curtsy.store.database_url import DatabaseUrl
from curtsy.store.frozen_sessions import FROZEN_SECONDS
from curtsy.store.greenlet_bridge import wait_for
from curtsy.store.result import Result

CONNECT_SECONDS = 2
POOL_WAIT_SECONDS = 2
ROLLBACK_SECONDS = 2
CLOSE_SECONDS = 2
PREPARED_STATEMENTS = 500
"""How many prepared statements a connection keeps: more than this program has."""
SESSION = {
    "application_name": "curtsy",
    "jit": "off",  # compiling costs more than any of our statements
    "lock_timeout": "15s",
    "statement_timeout": "30s",
    # a frozen process must not hold its locks; see also frozen_sessions.py
    "idle_in_transaction_session_timeout": f"{FROZEN_SECONDS}s",
}


class PostgresConnection:
    """One session, with its prepared statements. Its statements run in `run_in_greenlet`."""

    engine: EngineName = "postgresql"

    def __init__(self, raw: "asyncpg.Connection[asyncpg.Record]") -> None:
        self.raw = raw
        self._prepared: dict[str, _Prepared] = {}

    def execute(self, sql: str, arguments: Sequence[Any] = (), /) -> Result:
        prepared = self._prepared.get(sql) or self._prepare(sql)
        try:
            rows = wait_for(prepared.statement.fetch(*arguments))
        except asyncpg.InvalidCachedStatementError:
            self._prepared.clear()  # a migration changed a table
            raise
        return Result(rows, prepared.columns, _number(prepared.statement.get_statusmsg() or ""))

    def _prepare(self, sql: str) -> "_Prepared":
        if len(self._prepared) == PREPARED_STATEMENTS:
            self._prepared.clear()
        found = self._prepared[sql] = _Prepared(wait_for(self.raw.prepare(sql)))
        return found


class _Prepared:
    __slots__ = ("columns", "statement")

    def __init__(self, statement: "PreparedStatement[asyncpg.Record]") -> None:
        self.statement = statement
        self.columns = tuple([attribute.name for attribute in statement.get_attributes()])


def _number(status: str) -> int:
    """Returns the number of rows in a status such as `UPDATE 3`; 0: it has none."""
    number = status.rpartition(" ")[2]
    return int(number) if number.isdigit() else 0


class PoolExhausted(TimeoutError):
    """All connections were in use for too long."""

    def __init__(self) -> None:
        super().__init__(f"no connection was free for {POOL_WAIT_SECONDS} seconds")


class PostgresPool:
    def __init__(self, url: DatabaseUrl, size: int) -> None:
        self._arguments = connect_arguments(url)
        self._free = asyncio.Semaphore(size)
        self._idle: list[PostgresConnection] = []

    async def close(self) -> None:
        while self._idle:
            await _close(self._idle.pop())

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[PostgresConnection]:
        """Lends a connection. After an error, rolls back what it did, or closes it."""
        await self._take_place()
        try:
            connection = self._last_used() or await self._connect()
            try:
                yield connection
            except Exception as error:
                if _is_broken_by(error) or not await _rolled_back(connection):
                    connection.raw.terminate()
                    self._drop_idle()  # the server is away, or was
                else:
                    self._idle.append(connection)
                raise
            except BaseException:  # cancelled: a statement may still run
                connection.raw.terminate()
                raise
            self._idle.append(connection)
        finally:
            self._free.release()

    async def _take_place(self) -> None:
        try:
            async with asyncio.timeout(POOL_WAIT_SECONDS if self._free.locked() else None):
                await self._free.acquire()
        except TimeoutError:
            raise PoolExhausted from None

    def _last_used(self) -> PostgresConnection | None:
        while self._idle:
            connection = self._idle.pop()
            if not connection.raw.is_closed():
                return connection
        return None

    async def _connect(self) -> PostgresConnection:
        return PostgresConnection(await asyncpg.connect(**self._arguments))

    def _drop_idle(self) -> None:
        while self._idle:
            self._idle.pop().raw.terminate()


def _is_broken_by(error: Exception) -> bool:
    """Whether the state of the session is unknown after the error."""
    client = asyncpg.InterfaceError | asyncpg.InternalClientError
    return isinstance(error, OSError | TimeoutError | client)


async def _rolled_back(connection: PostgresConnection) -> bool:
    """Returns whether the connection can be used again."""
    raw = connection.raw
    try:
        if raw.is_in_transaction():
            async with asyncio.timeout(ROLLBACK_SECONDS):
                await raw.execute("ROLLBACK")
    except Exception:
        return False
    except BaseException:
        raw.terminate()
        raise
    return not raw.is_closed()


async def _close(connection: PostgresConnection) -> None:
    with suppress(OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError):
        await connection.raw.close(timeout=CLOSE_SECONDS)


def connect_arguments(url: DatabaseUrl) -> dict[str, Any]:
    """Returns the arguments of `asyncpg.connect`: options that are none of its own are settings of
    the session."""
    options = dict(url.options)
    tls = options.pop("sslmode", options.pop("ssl", None))
    arguments: dict[str, Any] = {
        "host": options.pop("host", url.host),
        "port": options.pop("port", url.port),
        "database": options.pop("dbname", url.database),
        "user": options.pop("user", url.user),
        "password": options.pop("password", url.password),
        "timeout": float(options.pop("connect_timeout", CONNECT_SECONDS)),
        "server_settings": SESSION | options,
        "statement_cache_size": 0,  # the connection has its own
        "ssl": tls,
    }
    return {name: value for name, value in arguments.items() if value is not None}
