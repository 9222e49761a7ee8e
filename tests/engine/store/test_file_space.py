"""A SQLite file gives the space of deleted rows back to its disk, a little at a time."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from curtsy.store import Store
from curtsy.store import sqlite as sqlite_engine
from curtsy.store import vacuum as vacuuming
from curtsy.store.fresh_schema import create_schema
from curtsy.store.space import read_space
from curtsy.store.upgrade import upgrade
from curtsy.store.vacuum import VacuumRefused, vacuum
from support.sql import run, text

MIB = 2**20


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "curtsy.db"


def mode(file: Path) -> int:
    with closing(sqlite3.connect(file)) as connection:
        return int(connection.execute("PRAGMA auto_vacuum").fetchone()[0])


async def filled(store: Store, mebibytes: int) -> None:
    for n in range(mebibytes):
        await store.write(
            lambda c: run(c, FILL, {"page": n}) and None  # noqa: B023
        )


FILL = text("""
    INSERT INTO documents (page_id, version, content, hash, content_type, status, url, bytes,
                           fetched_at)
    VALUES (:page, 1, zeroblob(1000000), '', '', 200, '', 1, 1)""")
EMPTY = text("DELETE FROM documents")


async def emptied(store: Store) -> int:
    """Deletes all rows, and gives back what there is; returns in how many steps."""
    await store.write(lambda c: run(c, EMPTY) and None)
    steps = 0
    while await store.give_back(500):
        steps += 1
    await store.empty_log()
    return steps


@pytest.mark.parametrize("how", [create_schema, upgrade])
async def test_a_new_file_can_give_space_back(file: Path, how: object) -> None:
    async with Store(f"sqlite:///{file}") as store:
        await how(store)  # type: ignore[operator]
    assert mode(file) == sqlite_engine.INCREMENTAL


async def test_deleted_rows_make_the_file_smaller_in_small_steps(file: Path) -> None:
    async with Store(f"sqlite:///{file}") as store:
        await create_schema(store)
        await filled(store, 20)
        await store.empty_log()
        before = (await read_space(store)).database_bytes or 0
        assert before > 19 * MIB
        assert await emptied(store) >= 7
        space = await read_space(store)
    assert space.database_bytes is not None
    kept = sqlite_engine.FREE_PAGES_KEPT * 4096
    assert space.database_bytes < kept + 2 * MIB < before
    assert space.wal_bytes == 0


async def test_free_pages_stay_for_what_comes_next(file: Path) -> None:
    async with Store(f"sqlite:///{file}") as store:
        await create_schema(store)
        await filled(store, 3)
        assert await emptied(store) == 0
        free = await store.read(lambda c: c.execute("PRAGMA freelist_count").scalar())
    assert 0 < free <= sqlite_engine.FREE_PAGES_KEPT


async def test_a_log_that_is_read_is_left_and_nothing_waits_for_its_reader(file: Path) -> None:
    async with Store(f"sqlite:///{file}") as store:
        await create_schema(store)
        with closing(sqlite3.connect(file, isolation_level=None)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM jobs").fetchone()
            await filled(store, 2)
            await store.empty_log()
            assert ((await read_space(store)).wal_bytes or 0) > MIB
        await store.empty_log()
        assert (await read_space(store)).wal_bytes == 0


def an_old_file(file: Path) -> None:
    """As curtsy made files before."""
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE other (a)")


async def test_an_old_file_gives_nothing_back_until_it_was_vacuumed(file: Path) -> None:
    an_old_file(file)
    async with Store(f"sqlite:///{file}") as store:
        await create_schema(store)
        await filled(store, 8)
        assert await emptied(store) == 0
    sizes = vacuum(file)
    assert sizes.before > 7 * MIB > 2 * MIB > sizes.after
    assert mode(file) == sqlite_engine.INCREMENTAL
    async with Store(f"sqlite:///{file}") as store:
        await filled(store, 8)
        assert await emptied(store) > 0


def test_a_file_that_somebody_writes_is_left_as_it_is(file: Path) -> None:
    an_old_file(file)
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(VacuumRefused, match=r"is in use, and is as it was: stop all"):
            vacuum(file)
    assert mode(file) == 0


def test_a_disk_that_is_too_small_for_it_is_noticed_before(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    an_old_file(file)
    monkeypatch.setattr(vacuuming, "free_bytes", lambda _file: 1_000)
    with pytest.raises(VacuumRefused, match=r"1,000 bytes left, and a vacuum may need [\d,]+"):
        vacuum(file)
    assert mode(file) == 0
