"""The schema's version, for every process to check; what changes it is `upgrade`."""

from pathlib import Path

from sqlalchemy import Connection, inspect, text

from curtsy.errors import WrongSchema
from curtsy.store.store import Store

MIGRATIONS = Path(__file__).parent / "migrations"
_FOUND = text("SELECT version_num FROM alembic_version")


def newest() -> str:
    """That this program knows. By the files' names: Alembic takes a quarter of a second to say."""
    return max(file.name[:4] for file in (MIGRATIONS / "versions").glob("[0-9]*.py"))


async def found(store: Store) -> str | None:
    """None: there are no tables yet."""

    def read(connection: Connection) -> str | None:
        known = inspect(connection).has_table("alembic_version")
        return connection.execute(_FOUND).scalar() if known else None

    return await store.read(read)


async def require_known_schema(store: Store) -> None:
    """Refuse to run on a schema that this program does not know."""
    if (version := await found(store)) != newest():
        raise WrongSchema(version, newest())
