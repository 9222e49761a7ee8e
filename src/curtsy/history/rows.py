"""The statements that change the table `history`.

Every result that counted is in exactly one row of all sources together, and in exactly one row of
its source: at first in the row of its minute (of its hour, for the source), later in that of its
hour and of its day. Rows of all time are beside these. Whoever changes the table holds its lock.
"""

from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import NamedTuple

from curtsy.clock import DAY, HOUR, MINUTE
from curtsy.history.tally import Tally, tally_of
from curtsy.store import Connection, Lookup, Statement


class Span(IntEnum):
    """What a row counts."""

    ALL_TIME = 0
    MINUTE = 1
    TEN_MINUTES = 2
    HOUR = 3
    DAY = 4

    @property
    def ms(self) -> int:
        return _LENGTHS[self]

    def begin(self, at: int) -> int:
        """Returns when the span began that contains this instant."""
        return at - at % self.ms


_LENGTHS = {
    Span.MINUTE: MINUTE, Span.TEN_MINUTES: 10 * MINUTE, Span.HOUR: HOUR, Span.DAY: DAY,
}  # fmt: skip
ALL_SOURCES = ALL_BANDS = 0


class Key(NamedTuple):
    span: int
    source_id: int
    at: int
    band: int


_KEY = {"span": "smallint", "source_id": "bigint", "at": "bigint", "band": "smallint"}
_LOCK = Statement("SELECT 1 FROM history_state {lock}")
_LOCK_IF_FREE = Statement("SELECT 1 FROM history_state {lock_skip}")
_READ = Lookup(
    """
    SELECT span, source_id, at, band, counts FROM history
    WHERE span = {each_span} AND source_id = {each_source_id} AND at = {each_at}
        AND band = {each_band}
    LIMIT 1
    """,
    each=_KEY,
)
_WRITE = Statement(
    """
    INSERT INTO history (span, source_id, at, band, requests, failures, counts)
    SELECT span, source_id, at, band, requests, failures, counts FROM {new} WHERE true
    ON CONFLICT (span, source_id, at, band) DO UPDATE SET requests = excluded.requests,
        failures = excluded.failures, counts = excluded.counts
    """,
    new=_KEY | {"requests": "int", "failures": "int", "counts": "text"},
)


def lock(connection: Connection, *, waits: bool = False) -> bool:
    """Locks the history for this transaction. With `waits` it waits for another process that holds
    the lock; without, it returns False."""
    return (_LOCK if waits else _LOCK_IF_FREE)(connection).first() is not None


def add(connection: Connection, tallies: Mapping[Key, Tally]) -> None:
    """Adds the counts to their rows. The caller holds the lock."""
    if not tallies:
        return
    keys = sorted(tallies)
    for *key, counts in _READ.tuples(connection, keys):
        tallies[Key._make(key)].add_stored(counts)
    _WRITE(
        connection, new=[(*key, *_rank(key, tallies[key]), tallies[key].stored()) for key in keys]
    )


def _rank(key: Key, tally: Tally) -> tuple[int, int]:
    """Requests and failures, by which the sources of an hour or a day are ranked. Zero in other
    rows: those of all time would outgrow an integer."""
    if key.source_id == ALL_SOURCES or key.span == Span.ALL_TIME:
        return 0, 0
    return tally.requests, tally.failures


def by_key(rows: Iterable[tuple[Key, str]]) -> dict[Key, Tally]:
    """Adds up stored counts by key."""
    tallies: dict[Key, Tally] = {}
    for key, counts in rows:
        if key in tallies:
            tallies[key].add_stored(counts)
        else:
            tallies[key] = tally_of(counts)
    return tallies
