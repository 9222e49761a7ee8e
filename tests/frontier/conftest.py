import pytest
from support.frontier import Bench

from curtsy.store import Store


@pytest.fixture
def bench(store: Store) -> Bench:
    return Bench(store)
