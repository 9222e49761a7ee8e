"""How much space a database takes is read from where it lies."""

import shutil
from pathlib import Path

from curtsy.store import Store
from curtsy.store.database_url import parse_database_url
from curtsy.store.space import read_space
from support.sql import run, text


async def grown(store: Store) -> None:
    await store.write(lambda c: run(c, text("CREATE TABLE big (x)")) and None)
    await store.write(lambda c: run(c, text("INSERT INTO big VALUES (zeroblob(3000000))")) and None)


async def test_a_file_its_log_and_the_room_on_its_disk(sqlite_url: str, tmp_path: Path) -> None:
    async with Store(sqlite_url) as store:
        before = await read_space(store)
        assert before.database_bytes == (tmp_path / "curtsy.db").stat().st_size
        await grown(store)
        after = await read_space(store)
        assert after.wal_bytes is not None
        assert after.wal_bytes >= 3_000_000
        assert after.free_bytes is not None
        assert 0 < after.free_bytes <= shutil.disk_usage(tmp_path).total


async def test_a_file_without_a_log_has_one_of_no_bytes(sqlite_url: str) -> None:
    async with Store(sqlite_url) as store:
        assert (await read_space(store)).wal_bytes == 0


async def test_a_server_tells_the_size_of_the_database_and_of_its_log(postgres_url: str) -> None:
    async with Store(postgres_url) as store:
        space = await read_space(store)
    assert space.database_bytes is not None
    assert space.database_bytes > 2**20
    assert space.wal_bytes is not None
    assert space.wal_bytes >= 2**20
    assert space.free_bytes is None, "its disk is another machine's"


async def test_a_user_who_may_not_see_the_log_of_the_server_is_told_the_rest(
    postgres_url: str,
) -> None:
    async with Store(postgres_url) as store:
        await store.write(lambda c: run(c, text("CREATE ROLE plain LOGIN")) and None)
        plain = parse_database_url(postgres_url)._replace(user="plain").text()
        try:
            async with Store(plain) as theirs:
                space = await read_space(theirs)
        finally:
            await store.write(lambda c: run(c, text("DROP ROLE plain")) and None)
    assert space.database_bytes is not None
    assert space.wal_bytes is None
