"""Fills the history through its own fold, on a clock of its own."""

import random
from collections.abc import Iterator

from curtsy.clock import HOUR, MINUTE
from curtsy.history.facts import OUTCOMES, Fact, Fate, batch_call
from curtsy.history.fold import fold_sources, fold_totals
from curtsy.history.roll_up import prune, reduce_days, roll_up_sources, roll_up_totals
from curtsy.store import Connection, Statement, Store

FACTS_IN_A_BATCH = 1_000
KINDS = ("timeout", "server_error", "gone", "connect", "rate_limited")
_SOURCES = Statement(
    "INSERT INTO sources (name, created_at) SELECT name, 0 FROM {new} WHERE true",
    new={"name": "text"},
)


def facts(rng: random.Random, *, sources: int, pages: int) -> list[Fact]:
    """Results of one hour: one in ten fails, half of these for good."""
    return [_fact(rng, minute=n * 60 // pages, source_id=1 + n % sources) for n in range(pages)]


def _fact(rng: random.Random, *, minute: int, source_id: int) -> Fact:
    took, waited = int(rng.lognormvariate(5.5, 0.8)), int(rng.lognormvariate(8, 2))
    outcome, kind, fate = OUTCOMES.index("fetched"), None, Fate.SUCCEEDED
    if rng.random() < 0.1:
        outcome, kind = OUTCOMES.index("failed"), rng.choice(KINDS)
        fate = rng.choice((Fate.RETRIED, Fate.BURIED))
    return (minute, source_id, rng.choice((1, 2, 2, 3)), outcome, kind, int(fate), took,
            int(rng.lognormvariate(10, 1)), 0, waited, 0, 0, 0)  # fmt: skip


def at_hour(of_an_hour: list[Fact], hour: int) -> Iterator[list[Fact]]:
    """The same results in another hour since 1970, in batches."""
    first = hour * HOUR // MINUTE
    moved = [(first + fact[0], *fact[1:]) for fact in of_an_hour]
    for start in range(0, len(moved), FACTS_IN_A_BATCH):
        yield moved[start : start + FACTS_IN_A_BATCH]


def name_sources(connection: Connection, number: int) -> None:
    _SOURCES(connection, new=[(f"s{n}.example",) for n in range(1, number + 1)])


async def count(store: Store, batches: Iterator[list[Fact]], *, now: int) -> None:
    told = list(batches)  # the store may repeat the transaction

    def work(connection: Connection) -> None:
        for batch in told:
            statement, values = batch_call(batch, at=now)
            statement(connection, **values)
        fold_totals(connection, now=now)
        fold_sources(connection, now=now)

    await store.write(work, large=True)


async def age(store: Store, *, now: int) -> None:
    await store.write(lambda c: roll_up_totals(c, now=now), large=True)
    while await store.write(lambda c: roll_up_sources(c, now=now), large=True):
        pass
    await store.write(lambda c: reduce_days(c, now=now))
    await store.write(lambda c: prune(c, now=now))
