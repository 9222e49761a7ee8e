"""Moves rows of `history` into those of longer spans as they age, and deletes the oldest.

A roll-up deletes rows and adds their counts to others in one transaction: repeated or interrupted,
it loses nothing and counts nothing twice. Results that arrive late for a span that was rolled up
make a new row of the shorter span, which the next roll-up moves too.
"""

from collections.abc import Iterable

from curtsy.clock import DAY, HOUR, MINUTE
from curtsy.history.rows import Key, Span, add, by_key, lock
from curtsy.store import Connection, Statement

KEPT = {Span.MINUTE: 3 * HOUR, Span.TEN_MINUTES: 3 * DAY, Span.HOUR: 35 * DAY}
"""Of all sources together: then the rows are moved into those of the next longer span."""
ROLLED_UP_EARLIER = 10 * MINUTE
"""By a process with another clock, or while somebody reads: who relies on short rows leaves so
much time."""
SOURCE_HOURS_KEPT = 2 * DAY
DAYS_KEPT = 400 * DAY
SOURCE_IDS_AT_ONCE = 100
"""Range of source ids whose hours one transaction moves: at most some thousand rows."""
MOST_SOURCES = 1_000
"""Of a day, that are kept once the day has ended: those with most requests, and described ones."""
REDUCED_DAYS = 7
MOST_DELETED = 100_000

_TAKE_TOTALS = Statement(
    """
    DELETE FROM history WHERE span = :span AND source_id = 0 AND at < :before
    RETURNING source_id, at, band, counts
    """
)
_OLDEST_SOURCE = Statement(
    """
    SELECT source_id FROM history WHERE span = :span AND source_id > 0 AND at < :before
    ORDER BY at LIMIT 1
    """
)
_TAKE_SOURCES = Statement(
    """
    DELETE FROM history
    WHERE span = :span AND source_id >= :first AND source_id < :end AND source_id > 0
        AND at < :before
    RETURNING source_id, at, band, counts
    """
)
_PRUNE_TOTALS = Statement(
    "DELETE FROM history WHERE span = :day AND source_id = 0 AND at < :before"
)
_PRUNE_SOURCES = Statement(
    """
    DELETE FROM history WHERE span = :day AND source_id > 0 AND at = (
        SELECT at FROM history WHERE span = :day AND source_id > 0 AND at < :before
        ORDER BY at LIMIT 1)
    """
)
_REDUCE = Statement(
    """
    DELETE FROM history WHERE span = :day AND at = :at AND source_id > 0 AND source_id IN (
        SELECT h.source_id FROM history h
        WHERE h.span = :day AND h.at = :at AND h.source_id > 0
          AND NOT EXISTS (SELECT 1 FROM sources s WHERE s.id = h.source_id AND s.described)
        ORDER BY h.requests DESC, h.source_id DESC LIMIT :most_deleted OFFSET :most)
    """
)


def span_at(instant: int, *, now: int) -> Span:
    """The rows of all sources together that count this instant are no longer than this: what
    begins with one of these spans is counted apart from what was before."""
    age = now - instant + ROLLED_UP_EARLIER
    return next((span for span, kept in KEPT.items() if age < kept), Span.DAY)


def roll_up_totals(connection: Connection, *, now: int) -> int:
    """Moves old rows of all sources together into longer spans; returns how many rows."""
    if not lock(connection):
        return 0
    moved = 0
    for span, kept in KEPT.items():
        longer = Span(span + 1)
        old = _TAKE_TOTALS(connection, span=span, before=longer.begin(now - kept))
        moved += _move(connection, old.tuples(), longer)
    return moved


def roll_up_sources(connection: Connection, *, now: int) -> int:
    """Moves old hours of some sources into days; returns how many rows. 0: none are left."""
    if not lock(connection):
        return 0
    before = Span.DAY.begin(now - SOURCE_HOURS_KEPT)
    oldest = _OLDEST_SOURCE(connection, span=Span.HOUR, before=before).scalar()
    if oldest is None:
        return 0
    first = oldest - oldest % SOURCE_IDS_AT_ONCE
    rows = _TAKE_SOURCES(connection, span=Span.HOUR, first=first, end=first + SOURCE_IDS_AT_ONCE,
                         before=before)  # fmt: skip
    return _move(connection, rows.tuples(), Span.DAY)


def reduce_days(connection: Connection, *, now: int) -> int:
    """Deletes the rows of small sources from the last days that have no hours any more; returns how
    many. In all, nothing is forgotten."""
    if not lock(connection):
        return 0
    end = Span.DAY.begin(now - SOURCE_HOURS_KEPT)
    days = range(end - REDUCED_DAYS * DAY, end, DAY)
    return sum(_REDUCE(connection, day=Span.DAY, at=at, most=MOST_SOURCES,
                       most_deleted=MOST_DELETED).rowcount for at in days)  # fmt: skip


def prune(connection: Connection, *, now: int) -> int:
    """Deletes the oldest day; returns how many rows. 0: none are too old."""
    if not lock(connection):
        return 0
    before = now - DAYS_KEPT
    totals = _PRUNE_TOTALS(connection, day=Span.DAY, before=before)
    of_sources = _PRUNE_SOURCES(connection, day=Span.DAY, before=before)
    return totals.rowcount + of_sources.rowcount


def _move(connection: Connection, rows: Iterable[tuple[int, int, int, str]], to: Span) -> int:
    """Adds the counts of deleted rows to the rows of a longer span."""
    taken = [(Key(to, source_id, to.begin(at), band), counts)
             for source_id, at, band, counts in rows]  # fmt: skip
    if taken:
        add(connection, by_key(taken))
    return len(taken)
