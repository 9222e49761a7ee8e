from collections.abc import AsyncIterator

import pytest

from curtsy.store import Store
from support.frontier import Bench
from support.holding import repeats

__all__ = ["repeats"]


@pytest.fixture
async def bench(postgres_url: str) -> AsyncIterator[Bench]:
    """SQLite serialises writers and cannot show a race: here all runs on PostgreSQL."""
    async with Store(postgres_url) as store:
        yield Bench(store)
