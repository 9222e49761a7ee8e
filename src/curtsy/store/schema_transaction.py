"""Transactions on SQLAlchemy, which Alembic needs: for migrations only."""

import asyncio
import sqlite3
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from sqlalchemy import Connection, create_engine, event
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool

from curtsy.store.database_url import DatabaseUrl, parse_database_url
from curtsy.store.sqlite import BEGIN_WRITING, WRITER_CACHE_KIB, connect
from curtsy.store.store import Store

if TYPE_CHECKING:
    from curtsy.store.postgres_servers import Session

T = TypeVar("T")
SchemaWork = Callable[[Connection], T]

LOCK_MS = 300
"""Who waits for a lock on a table holds up everybody who comes after, so a migration waits for a
moment only, and tries again later."""
SESSION = {
    "application_name": "curtsy upgrade",
    "lock_timeout": f"{LOCK_MS}ms",
    "statement_timeout": "0",  # a large table takes as long as it takes
    "idle_in_transaction_session_timeout": "60s",
}


async def schema_transaction(store: Store, work: SchemaWork[T]) -> T:
    """Runs the work as one transaction on a connection of its own, and commits it, durably on both
    engines. The store's rules for errors and repetitions hold."""
    url = parse_database_url(store.url)
    if url.is_sqlite:
        return await store.repeated(lambda: asyncio.to_thread(_on_sqlite, url, work))
    return await store.repeated(lambda: _on_postgres(store.url, work))


def _on_sqlite(url: DatabaseUrl, work: SchemaWork[T]) -> T:
    def durable_connection() -> sqlite3.Connection:
        opened = connect(str(url.database), cache_kib=WRITER_CACHE_KIB)
        opened.execute("PRAGMA synchronous = FULL")
        return opened.raw

    engine = create_engine("sqlite://", creator=durable_connection, poolclass=NullPool)

    @event.listens_for(engine, "begin")
    def _begin(begun: Connection) -> None:
        begun.exec_driver_sql(BEGIN_WRITING)

    with engine.begin() as connection:
        return work(connection)


async def _on_postgres(url: str, work: SchemaWork[T]) -> T:
    engine = create_async_engine(
        "postgresql+asyncpg://", async_creator=lambda: schema_connection(url), poolclass=NullPool
    )
    async with engine.begin() as connection:
        return await connection.run_sync(work)


async def schema_connection(url: str, **settings: str) -> "Session":
    """Opens a session of the primary for changes of the schema."""
    from curtsy.store.postgres_servers import Servers

    return await Servers(url, session=SESSION | settings, command_seconds=None).connect()
