import pytest

from curtsy.store import Store
from support.frontier import Bench


@pytest.fixture
def bench(store: Store) -> Bench:
    return Bench(store)
