"""Sites to fetch from: one on the test's own loop, one in a process of its own."""

from collections.abc import AsyncIterator

import pytest

from curtsy.clock import Clock
from curtsy.demo.practice_site import PracticeSite
from curtsy.demo.process import PracticeProcess
from curtsy.store import Store
from support.engine import Engine, engine


@pytest.fixture
async def site() -> AsyncIterator[PracticeSite]:
    async with PracticeSite(hosts=4) as practice:
        yield practice


@pytest.fixture
async def site_apart() -> AsyncIterator[PracticeProcess]:
    """Its clock readings do not wait for the worker's loop: for tests that measure gaps."""
    async with PracticeProcess(hosts=4) as practice:
        yield practice


@pytest.fixture
def curtsy(store: Store, clock: Clock) -> Engine:
    return engine(store, clock)
