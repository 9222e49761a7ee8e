"""Builds an index of a large table of PostgreSQL beside the work, outside of any transaction."""

from typing import TYPE_CHECKING

import asyncpg

from curtsy.store.database_errors import to_curtsy_error
from curtsy.store.schema_transaction import schema_connection
from curtsy.store.store import Store
from curtsy.store.upgrade.lock_patience import Busy, LockPatience
from curtsy.store.upgrade.plan import LargeIndex

if TYPE_CHECKING:
    from asyncpg import Connection, Record

INDEX_LOCK = 4_207_880  # of those who build one; arbitrary, but unique within the database
_IS_VALID = "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass($1)"
_TRY_LOCK = f"SELECT pg_try_advisory_lock({INDEX_LOCK})"


async def build_index(store: Store, index: LargeIndex, patience: LockPatience) -> None:
    """Builds the index unless it exists; replaces one that an interrupted build has left. Nobody
    waits for it, but it waits for all transactions that are older."""
    await patience.retry(lambda: _build(store, index, patience), what=f"with index {index.name}")


async def _build(store: Store, index: LargeIndex, patience: LockPatience) -> None:
    try:
        wait = f"{max(1, round(patience.seconds_left * 1000))}ms"
        session = await schema_connection(store.url, lock_timeout=wait)
        try:
            await _build_in(session, index)
        finally:
            await session.close()
    except asyncpg.LockNotAvailableError as error:
        raise Busy from error
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError) as error:
        raise to_curtsy_error(error, store.url) or error from error


async def _build_in(session: "Connection[Record]", index: LargeIndex) -> None:
    if not await session.fetchval(_TRY_LOCK):
        raise Busy(of_upgrade=True)
    is_valid = await session.fetchval(_IS_VALID, index.name)
    if is_valid is False:
        await session.execute(f"DROP INDEX CONCURRENTLY {index.name}")
    if not is_valid:
        await session.execute(index.statement(concurrently=True))
