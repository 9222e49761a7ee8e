"""Compares the tables of the database with those that this program expects."""

from typing import Any

from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Connection

from curtsy.store.schema import metadata
from curtsy.store.schema_transaction import schema_transaction
from curtsy.store.store import Store


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
