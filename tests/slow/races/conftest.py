from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest

from curtsy.store import Store
from support.holding import repeats

__all__ = ["repeats"]
PROCESSES = 15


@pytest.fixture
async def stores(postgres_url: str) -> AsyncIterator[list[Store]]:
    """As of so many processes."""
    async with AsyncExitStack() as stack:
        yield [
            await stack.enter_async_context(Store(postgres_url, pool_size=3))
            for _ in range(PROCESSES)
        ]
