"""Upgrades the schema, and compares it with the one that this program expects."""

from typing import Any

from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text

from curtsy.errors import WrongSchema
from curtsy.store.schema import metadata
from curtsy.store.schema_transaction import schema_transaction
from curtsy.store.store import Store
from curtsy.store.version import MIGRATIONS, newest

_UPGRADE_LOCK = 4_207_879  # arbitrary, but unique within the database


def _config(connection: Connection | None = None) -> Config:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.set_main_option("path_separator", "os")
    if connection is not None:
        config.attributes["connection"] = connection
    return config


async def upgrade(store: Store) -> tuple[str | None, str]:
    """Upgrades the schema, safely against concurrent upgrades. Returns the versions before and
    after."""

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

    return await schema_transaction(store, work)


async def differences(store: Store) -> list[str]:
    """Returns the differences between the tables and the schema that this program expects."""

    def work(connection: Connection) -> list[str]:
        engine = connection.dialect.name

        def belongs_to_engine(item: Any, _name: str | None, kind: str, *_: object) -> bool:
            only = getattr(item, "_ddl_if", None) if kind == "index" else None
            return only is None or only.dialect == engine

        context = MigrationContext.configure(connection, opts={"include_object": belongs_to_engine})
        return [str(difference) for difference in compare_metadata(context, metadata)]

    return await schema_transaction(store, work)
