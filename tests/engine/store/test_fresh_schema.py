"""An empty SQLite file gets in one step what all migrations would have made of it."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from alembic import command

from curtsy.config import Settings
from curtsy.processes.startup import ready
from curtsy.store import Store
from curtsy.store import fresh_schema as fresh
from curtsy.store.fresh_schema import SCRIPT, create_schema, migrated_script, script_of
from curtsy.store.schema_transaction import schema_transaction
from curtsy.store.upgrade import _config, differences, upgrade
from curtsy.store.version import newest, stored_version


def opened(folder: Path, name: str) -> Store:
    return Store(f"sqlite:///{folder / name}")


def content(path: Path) -> str:
    """All tables, indexes and rows."""
    with closing(sqlite3.connect(path)) as file:
        return script_of(file)


async def test_the_script_is_what_the_migrations_make() -> None:
    assert SCRIPT.read_text() == await migrated_script(), "run `make schema`"


async def test_a_fresh_file_is_the_same_as_a_migrated_one(tmp_path: Path) -> None:
    async with opened(tmp_path, "fresh") as store:
        assert await create_schema(store) == newest()
        assert await differences(store) == []
    async with opened(tmp_path, "migrated") as store:
        await upgrade(store)
    assert content(tmp_path / "fresh") == content(tmp_path / "migrated")


async def test_a_file_with_tables_is_left_as_it_is(tmp_path: Path) -> None:
    async with opened(tmp_path, "old") as store:
        await upgrade(store)
        before = content(tmp_path / "old")
        assert await create_schema(store) is None
    assert content(tmp_path / "old") == before


async def test_of_several_that_create_it_at_once_one_does(tmp_path: Path) -> None:
    async with opened(tmp_path, "a") as one, opened(tmp_path, "a") as two:
        created = await asyncio.gather(*(create_schema(store) for store in (one, two, one, two)))
    assert sorted(created, key=str) == [newest(), None, None, None]


async def test_a_script_that_fails_halfway_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "broken.sql"
    broken.write_text("CREATE TABLE a (b INTEGER);\n\nCREATE TABLE a (b INTEGER);\n\n")
    monkeypatch.setattr(fresh, "SCRIPT", broken)
    async with opened(tmp_path, "a") as store:
        with pytest.raises(sqlite3.OperationalError):
            await create_schema(store)
    assert content(tmp_path / "a") == ""


async def test_a_script_that_is_behind_the_migrations_is_followed_by_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As while a migration is being written."""
    async with opened(tmp_path, "behind") as store:
        await schema_transaction(store, lambda c: command.upgrade(_config(c), "0012"))
    (tmp_path / "behind.sql").write_text(content(tmp_path / "behind"))
    monkeypatch.setattr(fresh, "SCRIPT", tmp_path / "behind.sql")
    async with ready(Settings(database_url=f"sqlite:///{tmp_path / 'a'}"), upgrades_sqlite=True):
        pass
    async with opened(tmp_path, "a") as store:
        assert await stored_version(store) == newest()
        assert await differences(store) == []
