"""Connections to PostgreSQL on bad days: broken ones are not lent again, nobody waits long."""

import asyncio
import contextvars
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest

from curtsy.errors import StoreAway
from curtsy.store import Connection, Statement, Store, postgres_pool, wakeups
from curtsy.store.greenlet_bridge import run_in_greenlet, wait_for
from curtsy.store.postgres_pool import PostgresPool
from curtsy.store.postgres_servers import Session
from curtsy.store.wakeups import Wakeups
from support.patience import PATIENCE

BACKEND = Statement("SELECT pg_backend_pid()")
SLEEP = Statement("SELECT pg_sleep(:seconds)")
TAG = Statement("INSERT INTO job_tags (tag, job_id) VALUES (:tag, 1)")
TAGS = Statement("SELECT tag FROM job_tags ORDER BY tag")


@pytest.fixture
async def small(postgres_url: str) -> AsyncIterator[Store]:
    """A store with two connections."""
    async with Store(postgres_url, pool_size=2) as store:
        yield store


def pool_of(store: Store) -> PostgresPool:
    pool: PostgresPool = store._engine._pool  # type: ignore[attr-defined]
    return pool


async def test_the_last_used_connection_is_lent_first(small: Store) -> None:
    backends = {await small.read(lambda c: BACKEND(c).scalar()) for _ in range(5)}
    assert len(backends) == 1


async def test_a_connection_that_the_server_ended_is_replaced(small: Store) -> None:
    async def both() -> set[Any]:
        work = small.read(lambda c: SLEEP(c, seconds=0.05) and BACKEND(c).scalar())
        other = small.read(lambda c: SLEEP(c, seconds=0.05) and BACKEND(c).scalar())
        return set(await asyncio.gather(work, other))

    before = await both()
    killer = Statement("SELECT pg_terminate_backend(pid) FROM {wanted}", wanted={"pid": "int"})
    async with Store(small.url) as other:
        await other.read(lambda c: killer(c, wanted=[(pid,) for pid in before]) and None)
    after = await both()
    assert before.isdisjoint(after)


async def test_a_failed_statement_leaves_a_usable_connection_and_no_rows(small: Store) -> None:
    def insert_twice(connection: Connection) -> None:
        TAG(connection, tag="same")
        TAG(connection, tag="same")

    first = await small.read(lambda c: BACKEND(c).scalar())
    with pytest.raises(asyncpg.UniqueViolationError):
        await small.write(insert_twice)
    assert await small.read(lambda c: TAGS(c).scalars()) == []
    assert await small.read(lambda c: BACKEND(c).scalar()) == first


async def test_a_cancelled_transaction_is_undone_and_its_connection_not_lent_again(
    small: Store,
) -> None:
    backend: list[int] = []

    def insert_slowly(connection: Connection) -> None:
        backend.append(BACKEND(connection).scalar())
        TAG(connection, tag="cancelled")
        SLEEP(connection, seconds=30)

    writing = asyncio.create_task(small.write(insert_slowly))
    async with asyncio.timeout(PATIENCE):
        while not backend:
            await asyncio.sleep(0.005)
    writing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writing
    assert await small.read(lambda c: BACKEND(c).scalar()) != backend[0]
    assert await small.read(lambda c: TAGS(c).scalars()) == []
    assert pool_of(small)._free._value == 2, "its place is free again"


async def test_who_waits_too_long_for_a_connection_is_told(
    small: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_pool, "POOL_WAIT_SECONDS", 0.05)
    pool = pool_of(small)
    async with pool.connection(), pool.connection():
        with pytest.raises(StoreAway, match="no connection was free"):
            await small.read(lambda c: BACKEND(c).scalar())
    assert await small.read(lambda c: BACKEND(c).scalar())


async def test_a_statement_prepared_before_a_migration_is_prepared_anew(small: Store) -> None:
    every = Statement("SELECT * FROM changing")
    change = Statement("ALTER TABLE changing ADD COLUMN b int")
    await small.write(lambda c: Statement("CREATE TABLE changing (a int)")(c) and None)
    await small.write(lambda c: every(c).all())
    async with Store(small.url) as other:
        await other.write(lambda c: change(c) and None)
    assert await small.write(lambda c: every(c).all()) == []
    await small.write(lambda c: Statement("DROP TABLE changing")(c) and None)


async def test_a_value_that_does_not_fit_is_a_bug_and_not_a_server_that_is_away(
    small: Store,
) -> None:
    with pytest.raises(asyncpg.DataError):
        await small.read(lambda c: SLEEP(c, seconds="long").all())


async def test_work_that_waits_sees_the_same_context_and_gets_errors_where_it_waits() -> None:
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable")
    variable.set("outside")

    async def fail() -> None:
        await asyncio.sleep(0)
        raise ZeroDivisionError

    def work(added: str) -> str:
        with pytest.raises(ZeroDivisionError):
            wait_for(fail())
        return f"{variable.get()} {wait_for(asyncio.sleep(0, added))}"

    assert await run_in_greenlet(work, "inside") == "outside inside"


async def test_an_error_of_the_work_reaches_who_started_it() -> None:
    def work() -> None:
        wait_for(asyncio.sleep(0))
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await run_in_greenlet(work)


@pytest.mark.parametrize("broken", [asyncpg.InternalClientError, asyncpg.InterfaceError, OSError])
async def test_whoever_waits_to_be_woken_connects_again_whatever_the_driver_says(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch, broken: type[Exception]
) -> None:
    """A server that dies may leave asyncpg in the middle of a message."""
    monkeypatch.setattr(wakeups, "RECONNECT_AFTER_SECONDS", 0.01)
    whole, failed = Session.execute, asyncio.Event()

    async def fail_once(self: Session, query: str, *arguments: Any, **options: Any) -> str:
        if query.startswith("NOTIFY") and not failed.is_set():
            failed.set()
            raise broken("cannot switch to state 15; another operation (2) is in progress")
        return await whole(self, query, *arguments, **options)

    monkeypatch.setattr(Session, "execute", fail_once)
    woken = asyncio.Event()
    async with Wakeups(postgres_url, woken.set) as sender, asyncio.timeout(PATIENCE):
        sender.send()
        await failed.wait()
        for _ in range(2):  # at the new connection, and by a notification
            woken.clear()
            sender.send()
            await woken.wait()
