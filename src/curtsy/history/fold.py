"""Folds the facts of flushes into the table `history`.

Of all sources together they are counted every few seconds: by minute and band. By source and hour
they are counted less often the more sources there are, so that a row is written once for many
results. A batch is marked when it is counted in all, and deleted when it is counted by source.
"""

from collections.abc import Iterable
from typing import NamedTuple

import orjson

from curtsy.clock import HOUR, MINUTE, SECOND
from curtsy.history.facts import Fact
from curtsy.history.roll_up import SOURCE_HOURS_KEPT
from curtsy.history.rows import ALL_BANDS, ALL_SOURCES, Key, Span, add, lock
from curtsy.history.tally import Tally
from curtsy.store import Connection, Statement

TOTALS_AT_ONCE = 200
SOURCES_AT_ONCE = 1_000
"""Batches that one transaction folds; SQLite is locked meanwhile, for 50 and 300 ms at most."""
MOST_WAITING = 2_000
"""With more batches, sources are due: this bounds the size of the table."""
TOTALS_EVERY = 10 * SECOND
SOURCES_AT_LEAST_EVERY = 300 * SECOND
FOR_EACH_ROW = 30
"""Milliseconds from one fold of sources to the next, for each row that it wrote."""
MOST_DESCRIBED = 500
"""Described sources with a row of all time, by name."""
_MINUTES = HOUR // MINUTE

_STATE = Statement(
    """
    SELECT totals_due_at, sources_due_at, (SELECT count(*) FROM
        (SELECT 1 FROM history_batches LIMIT :most) AS waiting) AS batches
    FROM history_state
    """
)
_TAKE_FOR_TOTALS = Statement(
    """
    UPDATE history_batches SET counted = true
    WHERE id IN (SELECT id FROM history_batches WHERE NOT counted ORDER BY id LIMIT :most)
    RETURNING facts
    """
)
_TAKE_FOR_SOURCES = Statement(
    """
    DELETE FROM history_batches
    WHERE id IN (SELECT id FROM history_batches WHERE counted ORDER BY id LIMIT :most)
    RETURNING facts
    """
)
_TOTALS_DUE = Statement("UPDATE history_state SET totals_due_at = :at")
_SOURCES_DUE = Statement("UPDATE history_state SET sources_due_at = :at")
_DESCRIBED = Statement("SELECT id FROM sources WHERE described ORDER BY name LIMIT :most")


class Due(NamedTuple):
    totals: bool
    sources: bool
    pause: int
    """Milliseconds until something is due."""


def due(connection: Connection, *, now: int) -> Due:
    """What is to be folded now."""
    state = _STATE(connection, most=MOST_WAITING + 1).one()
    if not state.batches:
        return Due(False, False, TOTALS_EVERY)
    totals = _until(state.totals_due_at, now, longest=TOTALS_EVERY)
    sources = _until(state.sources_due_at, now, longest=SOURCES_AT_LEAST_EVERY)
    if state.batches > MOST_WAITING:
        sources = 0
    pause = min(totals or TOTALS_EVERY, sources or TOTALS_EVERY)
    return Due(not totals, not sources, pause)


def _until(at: int, now: int, *, longest: int) -> int:
    """Milliseconds until then. An instant that is further ahead than clocks differ is from before a
    clock was set back: what it was to delay is due."""
    return min(longest, max(0, at - now)) if at - now <= longest + MINUTE else 0


def fold_totals(
    connection: Connection, *, now: int, most: int = TOTALS_AT_ONCE, waits: bool = False
) -> int:
    """Counts some batches by minute and band, and of all time; returns how many. While another
    process folds it does nothing, or with `waits` waits for it."""
    if not lock(connection, waits=waits):
        return 0
    batches = _TAKE_FOR_TOTALS(connection, most=most).scalars()
    tallies: dict[Key, Tally] = {}
    for fact in _facts(batches):
        key = Key(Span.MINUTE, ALL_SOURCES, fact[0] * MINUTE, fact[2])
        tally = tallies.get(key)
        if tally is None:
            tally = tallies[key] = Tally()
        tally.add(fact)
    for key in list(tallies):
        ever = Key(Span.ALL_TIME, ALL_SOURCES, 0, key.band)
        tallies.setdefault(ever, Tally()).merge(tallies[key])
    add(connection, tallies)
    _TOTALS_DUE(connection, at=now + TOTALS_EVERY)
    return len(batches)


def fold_sources(
    connection: Connection, *, now: int, most: int = SOURCES_AT_ONCE, waits: bool = False
) -> int:
    """Counts some batches by hour and source, and of all time for described sources; returns how
    many. While another process folds it does nothing, or with `waits` waits for it."""
    if not lock(connection, waits=waits):
        return 0
    batches = _TAKE_FOR_SOURCES(connection, most=most).scalars()
    groups: dict[tuple[int, int], Tally] = {}
    for fact in _facts(batches):
        group = fact[0] // _MINUTES, fact[1]
        tally = groups.get(group)
        if tally is None:
            tally = groups[group] = Tally()
        tally.add(fact)
    described = set(_DESCRIBED(connection, most=MOST_DESCRIBED).scalars()) if groups else ()
    tallies: dict[Key, Tally] = {}
    for (hour, source_id), tally in groups.items():
        # Late results of hours that were rolled up go where those are: readers look nowhere else.
        span = Span.HOUR if hour * HOUR >= Span.DAY.begin(now - SOURCE_HOURS_KEPT) else Span.DAY
        key = Key(span, source_id, span.begin(hour * HOUR), ALL_BANDS)
        tallies.setdefault(key, Tally()).merge(tally)
        if source_id in described:
            ever = Key(Span.ALL_TIME, source_id, 0, ALL_BANDS)
            tallies.setdefault(ever, Tally()).merge(tally)
    add(connection, tallies)
    pause = max(TOTALS_EVERY, min(SOURCES_AT_LEAST_EVERY, len(tallies) * FOR_EACH_ROW))
    _SOURCES_DUE(connection, at=now + pause)
    return len(batches)


def _facts(batches: Iterable[str]) -> Iterable[Fact]:
    return (fact for batch in batches for fact in orjson.loads(batch))
