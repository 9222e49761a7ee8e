import pytest

from curtsy.clock import Clock
from curtsy.store import Store
from support.engine import Engine, engine


@pytest.fixture
def ask(store: Store, clock: Clock) -> Engine:
    return engine(store, clock)
