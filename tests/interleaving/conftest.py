from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest

from curtsy.store import Store
from interleaving.holding import Repeats
from support.frontier import Bench

PROCESSES = 15


@pytest.fixture
async def bench(postgres_url: str) -> AsyncIterator[Bench]:
    """SQLite serialises writers and cannot show a race: here all runs on PostgreSQL."""
    async with Store(postgres_url) as store:
        yield Bench(store)


@pytest.fixture
def repeats(monkeypatch: pytest.MonkeyPatch) -> Repeats:
    return Repeats(monkeypatch)


@pytest.fixture
async def stores(postgres_url: str) -> AsyncIterator[list[Store]]:
    """As of so many processes."""
    async with AsyncExitStack() as stack:
        yield [
            await stack.enter_async_context(Store(postgres_url, pool_size=3))
            for _ in range(PROCESSES)
        ]
