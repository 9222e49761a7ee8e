"""What a migration finds in a database that is in use, it leaves there."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from alembic import command
from sqlalchemy import Column, Connection, MetaData, Table, insert, select

from curtsy.store import Store
from curtsy.store.schema import metadata
from curtsy.store.schema_transaction import schema_transaction
from curtsy.store.upgrade import _config, differences, upgrade
from curtsy.store.version import newest

BEFORE = "0008"
HAVE_IDS = ("api_keys", "dead_letters", "events", "jobs", "links", "pages", "schedules", "sites",
            "sources", "webhook_deliveries")  # fmt: skip

Rows = dict[str, list[tuple[object, ...]]]


def test_every_table_that_numbers_its_rows_does_so_for_good() -> None:
    """SQLite has to be told."""
    numbered = {t.name: t for t in metadata.tables.values() if t.autoincrement_column is not None}
    assert numbered.keys() >= set(HAVE_IDS)
    assert [
        n for n, t in numbered.items() if not t.dialect_options["sqlite"]["autoincrement"]
    ] == []


class Old:
    """A database of an earlier version, with three rows in each table that numbers its rows."""

    def __init__(self, store: Store) -> None:
        self.store, self._tables = store, MetaData()

    async def fill(self) -> None:
        def work(connection: Connection) -> None:
            command.upgrade(_config(connection), BEFORE)
            self._tables.reflect(connection, only=HAVE_IDS)
            for table in self._tables.tables.values():
                connection.execute(insert(table), [row_of(table, n) for n in (1, 2, 3)])

        await schema_transaction(self.store, work)

    async def rows(self) -> Rows:
        def read(connection: Connection) -> Rows:
            return {
                name: [
                    tuple(row)
                    for row in connection.execute(select(*kept(table)).order_by(id_of(table)))
                ]
                for name, table in self._tables.tables.items()
            }

        return await schema_transaction(self.store, read)

    async def replace_the_newest(self) -> dict[str, int]:
        """The ids of those that came for them."""

        def work(connection: Connection) -> dict[str, int]:
            given = {}
            for name, table in self._tables.tables.items():
                connection.execute(table.delete().where(id_of(table) == 3))
                said = connection.execute(insert(table).returning(id_of(table)), row_of(table, 4))
                given[name] = int(said.scalar_one())
            return given

        return await schema_transaction(self.store, work)


def id_of(table: Table) -> Column[int]:
    [column] = table.primary_key.columns
    return column


def kept(table: Table) -> list[Column[Any]]:
    """Those columns that it still has today."""
    return [column for column in table.columns if column.name in metadata.tables[table.name].c]


def row_of(table: Table, number: int) -> dict[str, object]:
    """With something in every column that must have something."""
    made: dict[str, object] = {}
    for column in table.columns:
        if not (column.nullable or column.server_default is not None or column.primary_key):
            kind = column.type.python_type
            made[column.name] = f"{column.name}{number}" if kind is str else kind(number)
    return made


@pytest.fixture
async def old(empty_url: str) -> AsyncIterator[Old]:
    async with Store(empty_url) as store:
        filled = Old(store)
        await filled.fill()
        yield filled


async def test_rows_are_kept_and_no_id_is_given_twice(old: Old) -> None:
    before = await old.rows()
    assert all(len(rows) == 3 for rows in before.values())
    assert await upgrade(old.store) == (BEFORE, newest())
    assert await differences(old.store) == []
    assert await old.rows() == before
    assert await old.replace_the_newest() == dict.fromkeys(HAVE_IDS, 4)
