"""Transactions and replication slots that hold back PostgreSQL's upkeep."""

import asyncpg

from curtsy.store import Store
from curtsy.store.held_back import OLD, HeldBack, read_held_back


async def test_a_transaction_that_stays_open_is_found_by_its_program(postgres_url: str) -> None:
    async with Store(postgres_url) as store:
        other = await asyncpg.connect(postgres_url, server_settings={"application_name": "a shell"})
        assert await _seen(store, "a shell") == []
        await other.execute("BEGIN")
        await other.execute("SELECT 1")
        [found] = await _seen(store, "a shell")
        assert found.state == "idle in transaction"
        assert found.pid == await other.fetchval("SELECT pg_backend_pid()")
        assert 0 <= found.age < OLD
        young = await store.read(read_held_back)
        assert young.transactions == (), "it has not been open for long"
        await other.execute("ROLLBACK")
        assert await _seen(store, "a shell") == []
        await other.close()


async def _seen(store: Store, application: str) -> list[object]:
    held = await store.read(lambda c: read_held_back(c, oldest=0))
    return [one for one in held.transactions if one.application == application]


async def test_sqlite_tells_nothing_of_its_readers(sqlite_url: str) -> None:
    async with Store(sqlite_url) as store:
        assert await store.read(lambda c: read_held_back(c, oldest=0)) == HeldBack()
