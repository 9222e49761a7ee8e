"""The schema is brought up to date, and held against what this program expects."""

from typing import Any

from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text

from curtsy.errors import WrongSchema
from curtsy.store.schema import metadata
from curtsy.store.store import Store
from curtsy.store.version import MIGRATIONS, newest

_UPGRADE_LOCK = 4_207_879  # any number that no other program of this database uses


def _config(connection: Connection | None = None) -> Config:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.set_main_option("path_separator", "os")
    if connection is not None:
        config.attributes["connection"] = connection
    return config


async def upgrade(store: Store) -> tuple[str | None, str]:
    """Bring the schema up to date, whoever else tries to; returns the version before and after."""

    def work(connection: Connection) -> tuple[str | None, str]:
        if connection.dialect.name == "postgresql":
            connection.execute(text(f"SELECT pg_advisory_xact_lock({_UPGRADE_LOCK})"))
        before = MigrationContext.configure(connection).get_current_revision()
        scripts = ScriptDirectory.from_config(_config())
        known = {script.revision for script in scripts.walk_revisions()}
        if before is not None and before not in known:
            raise WrongSchema(before, newest())
        command.upgrade(_config(connection), "head")
        return before, newest()

    return await store.write(work, durable=True)


async def differences(store: Store) -> list[str]:
    """How the tables differ from what this program expects; empty when all is well."""

    def work(connection: Connection) -> list[str]:
        engine = connection.dialect.name

        def belongs(item: Any, _name: str | None, kind: str, *_: object) -> bool:
            only = getattr(item, "_ddl_if", None) if kind == "index" else None
            return only is None or only.dialect == engine

        context = MigrationContext.configure(connection, opts={"include_object": belongs})
        return [str(difference) for difference in compare_metadata(context, metadata)]

    return await store.read(work)
