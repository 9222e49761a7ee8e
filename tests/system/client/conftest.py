from collections.abc import AsyncIterator

import pytest

from api.conftest import (
    board,  # noqa: F401
    site,  # noqa: F401
)
from api.front import Front, front
from curtsy.clock import Clock
from curtsy.store import Store
from support.engine import engine


@pytest.fixture
async def idle(store: Store, clock: Clock) -> AsyncIterator[Front]:
    """Nothing fetches."""
    async with front(store, engine(store, clock)) as opened:
        yield opened


@pytest.fixture
async def working(store: Store, clock: Clock) -> AsyncIterator[Front]:
    whole = engine(store, clock)
    async with front(store, whole) as opened, whole.worker():
        yield opened
