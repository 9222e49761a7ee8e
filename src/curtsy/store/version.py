"""Reads and checks the version of the schema; `upgrade` changes it."""

from pathlib import Path

from curtsy.errors import WrongSchema
from curtsy.store.connection import Connection
from curtsy.store.dialects import Statement
from curtsy.store.store import Store

MIGRATIONS = Path(__file__).parent / "migrations"
_TABLES = Statement("SELECT {version_tables}")
_FOUND = Statement("SELECT version_num FROM alembic_version")


def newest() -> str:
    """Returns the newest version that this program knows, by the names of the migration files:
    loading Alembic takes a quarter of a second."""
    return max(file.name[:4] for file in (MIGRATIONS / "versions").glob("[0-9]*.py"))


async def stored_version(store: Store) -> str | None:
    """Returns the version of the database; None: there are no tables yet."""
    return await store.read(version_in)


def version_in(connection: Connection) -> str | None:
    """The same within a transaction."""
    return _FOUND(connection).scalar() if _TABLES(connection).scalar() else None


async def require_known_schema(store: Store) -> None:
    """Raises `WrongSchema` when the schema is not the one of this program."""
    if (version := await stored_version(store)) != newest():
        raise WrongSchema(version, newest())
