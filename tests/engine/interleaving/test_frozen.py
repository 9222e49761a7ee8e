"""A process that stands still in the midst of a transaction, as seen by the server."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest

from curtsy.store.frozen_sessions import FROZEN_SECONDS
from curtsy.store.postgres_servers import SESSION
from curtsy.worker.observer import Observer
from support.engine import until
from support.frontier import Bench
from support.patience import PATIENCE
from support.sql import run, text

Session = Any
"""asyncpg's own: its type takes a parameter for the type checker only."""


@pytest.fixture
async def session(bench: Bench, postgres_url: str) -> AsyncIterator[Session]:
    """Of another process, with locks."""
    await bench.submit("https://a.example/")
    opened = await asyncpg.connect(postgres_url, server_settings=SESSION)
    await opened.execute("BEGIN")
    await opened.execute("UPDATE sources SET looks = 1")
    yield opened
    opened.terminate()


async def looked(bench: Bench) -> None:
    """The worker's look at the others."""
    await Observer(store=bench.store, clock=bench.clock, ttl=15_000).step()


async def is_there(bench: Bench) -> bool:
    """Somebody else is in a transaction."""
    row = await bench.row(
        "SELECT count(*) FROM pg_stat_activity WHERE xact_start IS NOT NULL AND "
        "backend_type = 'client backend' AND pid <> pg_backend_pid() "
        "AND datname = current_database()"
    )
    return int(row.count) == 1


async def stays(bench: Bench) -> bool:
    await asyncio.sleep(0.3)  # time in which it would end
    return await is_there(bench)


async def test_who_froze_between_preparing_and_running_a_statement_keeps_no_locks(
    bench: Bench, session: Session
) -> None:
    await session.prepare("SELECT 42 + $1::int")
    await looked(bench)
    assert await stays(bench), "that may be a moment of any transaction"
    await asyncio.sleep(FROZEN_SECONDS)
    await looked(bench)

    async def is_gone() -> bool:
        return not await is_there(bench)

    await until(is_gone, 10, lambda: "it keeps its transaction")
    async with asyncio.timeout(PATIENCE):
        await bench.store.write(lambda c: run(c, text("UPDATE sources SET looks = 2")) and None)


async def test_who_waits_for_a_long_statement_is_left_alone(bench: Bench, session: Session) -> None:
    running = asyncio.create_task(session.fetch("SELECT pg_sleep($1)", FROZEN_SECONDS + 2))
    await asyncio.sleep(FROZEN_SECONDS + 0.5)
    await looked(bench)
    assert await stays(bench)
    await running
    await session.execute("COMMIT")
