"""Creates the tables of an empty SQLite file from one script, without Alembic.

`python -m curtsy.store.fresh_schema` (`make schema`) writes the script from what the migrations
made of an empty file; a test compares both.
"""

import asyncio
import re
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path

from curtsy.store.connection import Connection
from curtsy.store.store import Store
from curtsy.store.version import MIGRATIONS, version_in

SCRIPT = MIGRATIONS / "fresh_sqlite.sql"
_END = ";\n\n"
_OBJECTS = """
    SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'
    ORDER BY type = 'index', name"""
_TABLES = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
_UNIQUE = re.compile(r"(?:\tUNIQUE \([^)]*\)(?:, )?\n)+")


async def create_schema(store: Store) -> str | None:
    """Creates all tables in one transaction, durably. Returns None and changes nothing if the file
    has a schema; safe against concurrent calls and upgrades."""

    def work(connection: Connection) -> str | None:
        if version_in(connection) is not None:
            return None
        for statement in SCRIPT.read_text().removesuffix(_END).split(_END):
            connection.execute(statement)
        return version_in(connection)

    return await store.write(work, durable=True)


def script_of(file: sqlite3.Connection) -> str:
    """Returns the statements that create the tables, indexes and rows of this file, by name: a
    migration that copies a table recreates its indexes and its UNIQUE rules in any order."""
    objects = [_UNIQUE.sub(_sorted_rules, sql) for (sql,) in file.execute(_OBJECTS)]
    return "".join(f"{statement}{_END}" for statement in (*objects, *_rows(file)))


def _sorted_rules(found: re.Match[str]) -> str:
    rules = sorted(line.rstrip(", ") for line in found[0].splitlines())
    return ", \n".join(rules) + "\n"


def _rows(file: sqlite3.Connection) -> Iterator[str]:
    for (table,) in file.execute(f"{_TABLES} ORDER BY name").fetchall():
        columns = [column for _, column, *_ in file.execute(f"PRAGMA table_info({table})")]
        values = " || ', ' || ".join(f'quote("{column}")' for column in columns)
        for (row,) in file.execute(f"SELECT {values} FROM {table}"):  # noqa: S608 - our own names
            yield f"INSERT INTO {table} VALUES ({row})"  # noqa: S608


async def migrated_script() -> str:
    """Runs all migrations on an empty file and returns its script."""
    from curtsy.store.upgrade import upgrade

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "migrated.db"
        async with Store(f"sqlite:///{path}") as store:
            await upgrade(store)
        file = sqlite3.connect(path)
        try:
            return script_of(file)
        finally:
            file.close()


if __name__ == "__main__":
    SCRIPT.write_text(asyncio.run(migrated_script()))
