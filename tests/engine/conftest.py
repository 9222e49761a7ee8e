import pytest

from curtsy.clock import MINUTE, Clock
from curtsy.store import Store
from support.engine import Engine, engine
from support.frontier import Bench
from support.schedules import Hand
from support.sites import Board


@pytest.fixture
async def hand(store: Store, clock: Clock) -> Hand:
    """At the beginning of a minute of the database's time."""
    hand = Hand(clock.now() // MINUTE * MINUTE)
    hand.clock.version = clock.version
    return hand


@pytest.fixture
def ask(store: Store, hand: Hand) -> Engine:
    return engine(store, hand.clock)


@pytest.fixture
def bench(store: Store) -> Bench:
    return Bench(store)


@pytest.fixture
async def board(bench: Bench) -> Board:
    return await Board.declared(bench)
