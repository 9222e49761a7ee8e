"""Reads the version of the schema, and checks that this program can work with it; `upgrade` changes
the schema.

A program works with every schema from its own on, as long as the schema supports it: each migration
declares the oldest program that works with its result, and the table `schema_support` keeps that.
"""

from functools import cache
from pathlib import Path

from curtsy.errors import WrongSchema
from curtsy.store.connection import Connection
from curtsy.store.dialects import Statement
from curtsy.store.store import Store

MIGRATIONS = Path(__file__).parent / "migrations"
FIRST_THAT_DECLARES = "0019"
"""The schema that brought `schema_support`."""
BEFORE_IT = "0013"
"""What a process can work with that does not say it: programs that knew the schemas between had no
release."""
_TABLES = Statement("SELECT {version_tables}")
_FOUND = Statement("SELECT version_num FROM alembic_version")
_SUPPORT = Statement(
    """
    SELECT count(CASE WHEN revision = :revision THEN 1 END) AS is_declared,
           max(oldest_program) AS oldest_program
    FROM schema_support
    """
)


@cache
def newest() -> str:
    """Returns the newest version that this program knows, by the names of the migration files:
    loading Alembic takes a quarter of a second. Looks once: a process stays what it is when another
    version is installed over its files."""
    return max(file.name[:4] for file in (MIGRATIONS / "versions").glob("[0-9]*.py"))


async def stored_version(store: Store) -> str | None:
    """Returns the version of the database; None: there are no tables yet."""
    return await store.read(version_in)


def version_in(connection: Connection) -> str | None:
    """The same within a transaction."""
    return _FOUND(connection).scalar() if _TABLES(connection).scalar() else None


def oldest_program_in(connection: Connection, version: str) -> str:
    """Returns the oldest schema whose programs work with the schema of this version. A schema that
    says nothing of itself works with its own programs only."""
    if version < FIRST_THAT_DECLARES:
        return version
    found = _SUPPORT(connection, revision=version).one()
    oldest: str = found.oldest_program or version
    return oldest if found.is_declared else max(version, oldest)


async def require_known_schema(store: Store) -> None:
    """Raises `WrongSchema` when this program cannot work with the schema of the database."""
    own = newest()

    def check(connection: Connection) -> None:
        require_support(connection, version_in(connection), own)

    await store.read(check)


def require_support(connection: Connection, version: str | None, own: str) -> None:
    """Raises `WrongSchema` when programs of the schema `own` cannot work with this version."""
    if version is None or version < own:
        raise WrongSchema(version, own)
    oldest = oldest_program_in(connection, version)
    if own < oldest:
        raise WrongSchema(version, own, oldest)
