"""An upgrade beside work: what holds a lock delays the upgrade, and nobody else."""

import asyncio
from collections.abc import AsyncIterator, Iterator

import asyncpg
import pytest
from alembic import command

from curtsy.errors import UpgradeWaits
from curtsy.store import Connection, Store
from curtsy.store.schema_transaction import schema_transaction
from curtsy.store.upgrade import _config, upgrade
from curtsy.store.upgrade.index_builder import build_index
from curtsy.store.upgrade.lock_patience import LockPatience
from curtsy.store.upgrade.plan import LargeIndex
from curtsy.store.version import newest, stored_version
from support.engine import until
from support.patience import PATIENCE
from support.postgres import Postgres
from support.sql import run, text

BEFORE = "0018"
WRITES = 3
LOCK_SECONDS = 5
"""Many times as long as an upgrade waits for a lock before it lets the others pass."""
ADD = """
    INSERT INTO workers (id, beat, lease_until, machine, pid, program, started_at)
    VALUES ($1, 0, 0, 'here', 1, 'curtsy', 1)"""
WAITING = """
    SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
    AND application_name = 'curtsy upgrade' AND wait_event_type = 'Lock'"""
INDEX = LargeIndex("workers_by_machine", "workers", ("machine",), where="draining")


@pytest.fixture
def empty_postgres(postgres: Postgres) -> Iterator[str]:
    url = postgres.create_database("template0")
    yield url
    postgres.drop_database(url)


@pytest.fixture
async def old(empty_postgres: str) -> AsyncIterator[Store]:
    """A database of the version before."""
    async with Store(empty_postgres) as store:
        await schema_transaction(store, lambda c: command.upgrade(_config(c), BEFORE))
        yield store


async def other(store: Store) -> "asyncpg.Connection[asyncpg.Record]":
    """A session that is not curtsy's, such as that of `pg_dump`."""
    settings = {"application_name": "long report", "lock_timeout": f"{LOCK_SECONDS}s"}
    return await asyncpg.connect(store.url, server_settings=settings)


async def waits(store: Store) -> None:
    """The upgrade waits for a lock."""

    async def fact() -> bool:
        return bool(await store.read(lambda c: run(c, text(WAITING)).scalar()))

    await until(fact, PATIENCE, lambda: "nobody waits for a lock")


async def test_work_goes_on_while_an_upgrade_waits_for_a_long_reader(old: Store) -> None:
    """An ALTER TABLE that simply waited would hold up every write to its table, without end."""
    reader, writer = await other(old), await other(old)
    async with reader.transaction():
        await reader.fetch("SELECT * FROM workers")
        upgraded = asyncio.create_task(upgrade(old))
        for number in range(WRITES):
            await waits(old)
            await writer.execute(ADD, f"w{number}")
        assert not upgraded.done()
        assert await stored_version(old) == BEFORE
    assert await upgraded == (BEFORE, newest())
    await reader.close()
    await writer.close()


async def test_an_upgrade_that_finds_no_moment_names_who_is_in_its_way(old: Store) -> None:
    reader = await other(old)
    async with reader.transaction():
        await reader.fetch("SELECT * FROM workers")
        pid = await reader.fetchval("SELECT pg_backend_pid()")
        with pytest.raises(UpgradeWaits) as refused:
            await upgrade(old, lock_seconds=0.1)
        assert f"process {pid} (long report, for " in str(refused.value)
        assert "The upgrade to schema 0019 was not made" in str(refused.value)
    assert await stored_version(old) == BEFORE
    await reader.close()
    assert await upgrade(old) == (BEFORE, newest())


async def test_several_upgrades_at_once_are_one(empty_url: str) -> None:
    async with Store(empty_url) as one, Store(empty_url) as two:
        before = {found[0] for found in await asyncio.gather(upgrade(one), upgrade(two))}
        assert None in before
        assert await stored_version(one) == newest()


async def test_a_large_index_is_built_while_others_write(old: Store) -> None:
    writer, another = await other(old), await other(old)
    transaction = writer.transaction()
    await transaction.start()
    await writer.execute("UPDATE workers SET beat = 1")
    built = asyncio.create_task(build_index(old, INDEX, LockPatience(old, PATIENCE)))
    await waits(old)
    for number in range(WRITES):
        await another.execute(ADD, f"w{number}")
    assert not built.done(), "it waits for every older transaction"
    await transaction.commit()
    await built
    assert await old.read(is_valid)
    await build_index(old, INDEX, LockPatience(old, 1)), "which changes nothing"
    await writer.close()
    await another.close()


async def test_an_index_that_an_interrupted_upgrade_left_is_built_anew(old: Store) -> None:
    writer = await other(old)
    async with writer.transaction():
        await writer.execute("UPDATE workers SET beat = 1")
        with pytest.raises(UpgradeWaits, match="with index workers_by_machine"):
            await build_index(old, INDEX, LockPatience(old, 0.1))
    assert not await old.read(is_valid)
    await build_index(old, INDEX, LockPatience(old, PATIENCE))
    assert await old.read(is_valid)
    await writer.close()


def is_valid(connection: Connection) -> bool:
    valid = text("SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(:name)")
    return bool(run(connection, valid, {"name": INDEX.name}).scalar())
