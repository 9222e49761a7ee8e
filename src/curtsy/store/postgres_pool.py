"""Connections to PostgreSQL, for one event loop: few, kept open, the last used one first."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

import asyncpg
from asyncpg.prepared_stmt import PreparedStatement

from curtsy.logs import logger
from curtsy.store.connection import EngineName
from curtsy.store.greenlet_bridge import wait_for
from curtsy.store.postgres_servers import Servers, Session
from curtsy.store.result import Result

POOL_WAIT_SECONDS = 2
ROLLBACK_SECONDS = 2
CLOSE_SECONDS = 2
COMMIT_CHECK_SECONDS = 5.0
LONGEST_COMMIT = 365 * 24 * 3600.0
"""No timeout: asyncpg would cancel the commit, see `PostgresConnection.commit`."""
PREPARED_STATEMENTS = 500
"""How many prepared statements a connection keeps: more than this program has."""

log = logger("store")


class PostgresConnection:
    """One session, with its prepared statements. Its statements run in `run_in_greenlet`."""

    engine: EngineName = "postgresql"

    def __init__(self, raw: Session, servers: Servers) -> None:
        self.raw, self._servers = raw, servers
        self._prepared: dict[str, _Prepared] = {}
        self._commit: asyncio.Task[str] | None = None
        self._check: asyncio.TimerHandle
        self._checks: asyncio.Task[None]

    @property
    def is_usable(self) -> bool:
        return not self.raw.is_closed() and self._servers.is_current(self.raw)

    @property
    def is_committing(self) -> bool:
        return self._commit is not None

    async def commit(self) -> None:
        """Commits the transaction. The commit goes on when its caller is cancelled.

        A primary commits after its synchronous standby has the transaction. PostgreSQL ends this
        wait when a client cancels the statement, and shows the transaction to others; a repeated
        request would then be acknowledged although no standby has it.
        """
        loop = asyncio.get_running_loop()
        self._commit = loop.create_task(self.raw.execute("COMMIT", timeout=LONGEST_COMMIT))
        self._check = loop.call_later(COMMIT_CHECK_SECONDS, self._start_checks, self._commit)
        await self.committed()

    async def committed(self) -> None:
        """Waits for the commit."""
        assert self._commit is not None, "a commit was sent"
        try:
            await asyncio.shield(self._commit)
        finally:
            if self._commit.done():
                self._commit = None
                self._check.cancel()

    def _start_checks(self, commit: "asyncio.Task[str]") -> None:
        self._checks = asyncio.create_task(self._check_until(commit))

    async def _check_until(self, commit: "asyncio.Task[str]") -> None:
        """Ends the connection when another server is the primary: this one waits for ever."""
        while not commit.done():
            log.warning("commit_waits", meaning="the database or its standby does not answer")
            if await self._servers.have_left(self.raw):
                self.raw.terminate()
            await asyncio.wait([commit], timeout=COMMIT_CHECK_SECONDS)

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

    def __init__(self, committing: int) -> None:
        why = f"; {committing} wait for a commit, as for a standby" if committing else ""
        super().__init__(f"no connection was free for {POOL_WAIT_SECONDS} seconds{why}")


class PostgresPool:
    def __init__(self, servers: Servers, size: int) -> None:
        self._servers = servers
        self._free = asyncio.Semaphore(size)
        self._idle: list[PostgresConnection] = []
        self._committing: dict[PostgresConnection, asyncio.Task[None]] = {}
        """Connections whose caller has gone; each keeps its place until its commit has ended."""

    async def close(self) -> None:
        for connection in tuple(self._committing):
            connection.raw.terminate()
        await asyncio.gather(*self._committing.values())
        while self._idle:
            await _close(self._idle.pop())

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[PostgresConnection]:
        """Lends a connection. After an error, rolls back what it did, or closes it."""
        await self._take_place()
        connection: PostgresConnection | None = None
        try:
            connection = self._last_used() or await self._connect()
            try:
                yield connection
            except Exception as error:
                await self._take_back_after(error, connection)
                raise
            except BaseException:  # cancelled: a statement may still run
                if not connection.is_committing:
                    connection.raw.terminate()
                raise
            self._idle.append(connection)
        finally:
            if connection is not None and connection.is_committing:
                self._committing[connection] = asyncio.create_task(self._end_commit(connection))
            else:
                self._free.release()

    async def _take_back_after(self, error: Exception, connection: PostgresConnection) -> None:
        if _is_broken_by(error) or not await _rolled_back(connection):
            connection.raw.terminate()
            self._drop_idle()  # the server is away, or was, or is no primary any more
        else:
            self._idle.append(connection)

    async def _end_commit(self, connection: PostgresConnection) -> None:
        try:
            await connection.committed()
        except Exception as error:
            log.info("abandoned_commit_failed", reason=type(error).__name__)
            connection.raw.terminate()
            self._drop_idle()
        else:
            self._idle.append(connection)
        finally:
            del self._committing[connection]
            self._free.release()

    async def _take_place(self) -> None:
        try:
            async with asyncio.timeout(POOL_WAIT_SECONDS if self._free.locked() else None):
                await self._free.acquire()
        except TimeoutError:
            raise PoolExhausted(len(self._committing)) from None

    def _last_used(self) -> PostgresConnection | None:
        while self._idle:
            connection = self._idle.pop()
            if connection.is_usable:
                return connection
            connection.raw.terminate()
        return None

    async def _connect(self) -> PostgresConnection:
        return PostgresConnection(await self._servers.connect(), self._servers)

    def _drop_idle(self) -> None:
        self._servers.forget()
        while self._idle:
            self._idle.pop().raw.terminate()


def _is_broken_by(error: Exception) -> bool:
    """Whether the state of the session is unknown after the error."""
    client = asyncpg.InterfaceError | asyncpg.InternalClientError
    return isinstance(error, OSError | TimeoutError | client) or _is_of_a_server_that_ends(error)


def _is_of_a_server_that_ends(error: Exception) -> bool:
    """Whether the server shuts down, or has become a standby since the connection was made."""
    state = getattr(error, "sqlstate", None) or ""
    return state == "25006" or state.startswith("57P")


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
