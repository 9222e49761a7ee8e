"""Reads how much space the database takes, and how much its disk has left."""

import asyncio
from dataclasses import dataclass
from pathlib import Path

from curtsy.store.connection import Connection
from curtsy.store.database_url import parse_database_url
from curtsy.store.dialects import Statement
from curtsy.store.disk_space import free_bytes
from curtsy.store.store import Store

_DATABASE_SIZE = Statement("SELECT pg_database_size(current_database())")
_MAY_LIST_WAL = Statement("SELECT has_function_privilege('pg_ls_waldir()', 'execute')")
_WAL_SIZE = Statement("SELECT CAST(sum(size) AS bigint) FROM pg_ls_waldir()")


@dataclass(frozen=True, slots=True)
class Space:
    """Sizes in bytes; None: unknown."""

    database_bytes: int | None
    """The SQLite file, or the PostgreSQL database with its indexes."""
    wal_bytes: int | None
    """The write-ahead log. PostgreSQL shows that of the whole server, to members of
    `pg_monitor`."""
    free_bytes: int | None
    """What this user may still write to the disk of a SQLite file."""


async def read_space(store: Store) -> Space:
    """Returns the sizes now. Raises `StoreAway` if PostgreSQL does not answer."""
    if store.is_sqlite:
        file = Path(parse_database_url(store.url).database or "")
        return await asyncio.to_thread(_of_file, file)
    return await store.read(_of_server)


def _of_file(file: Path) -> Space:
    log = file.with_name(f"{file.name}-wal")
    return Space(_size(file), _size(log) or 0, free_bytes(file))


def _size(file: Path) -> int | None:
    try:
        return file.stat().st_size
    except OSError:
        return None


def _of_server(connection: Connection) -> Space:
    database = _DATABASE_SIZE(connection).scalar()
    listed = bool(_MAY_LIST_WAL(connection).scalar())
    return Space(database, _WAL_SIZE(connection).scalar() if listed else None, None)
