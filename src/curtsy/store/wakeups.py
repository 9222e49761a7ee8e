"""Notifications between processes that new work was stored. Only latency depends on them.

On PostgreSQL: NOTIFY on a separate connection, after the commit and at most a few times a second.
On SQLite: polling the file's data version, which takes microseconds.
"""

import asyncio
import sqlite3
import time
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Self

from curtsy.logs import logger
from curtsy.model.masks import without_credentials
from curtsy.store.database_url import parse_database_url

if TYPE_CHECKING:
    from curtsy.store.postgres_servers import Servers, Session

log = logger("store")

CHANNEL = "curtsy_work"
SEND_EVERY_SECONDS = 0.1
WATCH_EVERY_SECONDS = 0.05
RECONNECT_AFTER_SECONDS = 2.0
ASK_SERVERS_EVERY_SECONDS = 30.0


class Wakeups:
    """Call `send` after a commit; `on_wake` is called when another process may have sent."""

    def __init__(self, url: str, on_wake: Callable[[], None]) -> None:
        self._text, self._url, self._on_wake = url, parse_database_url(url), on_wake
        self._to_send = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def send(self) -> None:
        """Returns at once; several calls within a moment send one notification."""
        self._to_send.set()

    async def __aenter__(self) -> Self:
        watches = self._url.is_sqlite
        self._task = asyncio.create_task(self._watch_file() if watches else self._listen())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._task is not None
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task

    async def _watch_file(self) -> None:
        connection: sqlite3.Connection | None = None
        seen = None
        try:
            while True:
                try:
                    connection = connection or sqlite3.connect(self._url.database or "")
                    version = connection.execute("PRAGMA data_version").fetchone()
                    if version != seen:
                        seen = version
                        self._on_wake()
                except sqlite3.Error as error:
                    log.info("wakeups_wait_for_store", reason=str(error))
                await asyncio.sleep(WATCH_EVERY_SECONDS)
        finally:
            if connection is not None:
                connection.close()

    async def _listen(self) -> None:
        from curtsy.store.postgres_servers import UNREACHABLE, servers_of  # SQLite needs no asyncpg

        servers = servers_of(self._text)
        while True:
            try:
                connection = await servers.connect()
                try:
                    await connection.add_listener(CHANNEL, lambda *_: self._on_wake())
                    self._on_wake()
                    await self._send_until_closed(connection, servers)
                finally:
                    connection.terminate()
            except UNREACHABLE as error:
                reason = without_credentials(str(error), self._text)
                log.info("wakeups_wait_for_store", reason=reason)
            await asyncio.sleep(RECONNECT_AFTER_SECONDS)

    async def _send_until_closed(self, connection: "Session", servers: "Servers") -> None:
        """Also asks now and then whether another server is the primary: a process that only reads
        would not notice while its old primary lives on."""
        asked_at = time.monotonic()
        while not connection.is_closed() and servers.is_current(connection):
            if time.monotonic() - asked_at > ASK_SERVERS_EVERY_SECONDS:
                await servers.have_left(connection)
                asked_at = time.monotonic()
            try:
                async with asyncio.timeout(1.0):
                    await self._to_send.wait()
            except TimeoutError:
                continue
            self._to_send.clear()
            await connection.execute(f"NOTIFY {CHANNEL}")
            await asyncio.sleep(SEND_EVERY_SECONDS)
