from collections.abc import AsyncIterator

import pytest

from curtsy.store import Store
from interleaving.holding import Repeats
from support.frontier import Bench


@pytest.fixture
async def bench(postgres_url: str) -> AsyncIterator[Bench]:
    """SQLite serialises writers and cannot show a race: here all runs on PostgreSQL."""
    async with Store(postgres_url) as store:
        yield Bench(store)


@pytest.fixture
def repeats(monkeypatch: pytest.MonkeyPatch) -> Repeats:
    return Repeats(monkeypatch)
