"""Facts as flushes append them, and the sums of the history, whether folded or not."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import orjson

from curtsy.clock import MINUTE
from curtsy.history.facts import Fact, Fate, batch_call
from curtsy.history.tally import Tally, tally_of
from curtsy.store import Connection, Store
from support.sql import run, text

FETCHED = (0, None, int(Fate.SUCCEEDED))
_WAITING = text("SELECT facts FROM history_batches WHERE NOT counted")
_UNSORTED = text("SELECT facts FROM history_batches")
_TOTALS = text("SELECT counts FROM history WHERE span > 0 AND source_id = 0")
_ALL_TIME = text("SELECT counts FROM history WHERE span = 0 AND source_id = 0")
_SOURCES = text("SELECT source_id, counts FROM history WHERE span > 0 AND source_id > 0")


def fact(at: int, source_id: int = 1, band: int = 2) -> Fact:
    return (at // MINUTE, source_id, band, *FETCHED, 100, 1_000, 0, 50, 0, 0, 0)


async def append(store: Store, *batches: Sequence[Fact]) -> None:
    def work(connection: Connection) -> None:
        for facts in batches:
            statement, values = batch_call(facts, at=min(fact[0] for fact in facts) * MINUTE)
            statement(connection, **values)

    await store.write(work)


def figures(tally: Tally) -> dict[str, Any]:
    """All counts by name, so that two tallies can be compared."""
    found = {name: getattr(tally, name) for name in Tally.__slots__}
    return found | {"kinds": {kind: counts for kind, counts in tally.kinds.items() if any(counts)}}


def sum_of(facts: Iterable[Fact]) -> Tally:
    tally = Tally()
    for fact in facts:
        tally.add(fact)
    return tally


def in_all(connection: Connection) -> Tally:
    """Folded rows of every span, and batches that are not folded yet."""
    tally = sum_of(_facts(connection, _WAITING))
    for (counts,) in run(connection, _TOTALS).tuples():
        tally.add_stored(counts)
    return tally


def of_all_time(connection: Connection) -> Tally:
    tally = sum_of(_facts(connection, _WAITING))
    for (counts,) in run(connection, _ALL_TIME).tuples():
        tally.add_stored(counts)
    return tally


def by_source(connection: Connection) -> dict[int, Tally]:
    found: dict[int, Tally] = {}
    for fact in _facts(connection, _UNSORTED):
        found.setdefault(fact[1], Tally()).add(fact)
    for source_id, counts in run(connection, _SOURCES).tuples():
        found.setdefault(source_id, Tally()).merge(tally_of(counts))
    return found


def attempts_twice_or_never(connection: Connection) -> Counter[str]:
    """By outcome, the difference between the history and the table of attempts: nothing."""
    attempts = run(connection, text("SELECT outcome, count(*) FROM attempts GROUP BY outcome"))
    found = Counter(dict(attempts.tuples()))
    names = ("fetched", "not_modified", "moved", "again", "failed")
    found.subtract(dict(zip(names, in_all(connection).attempts, strict=True)))
    return Counter({name: number for name, number in found.items() if number})


def _facts(connection: Connection, batches: Any) -> Iterable[Fact]:
    return [fact for (one,) in run(connection, batches).tuples() for fact in orjson.loads(one)]
