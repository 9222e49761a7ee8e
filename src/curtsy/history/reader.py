"""Reads what happened in a period: in all, by source, and as a series.

A row that overlaps the beginning of the period counts whole, and the answer says since when; so
does the row of the last minute, hour or day. What was not folded yet is not counted: `until` says
so. On PostgreSQL each statement of a read has a snapshot of its own, so rows of all spans are read
by one statement: a roll-up moves them at once.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from math import ceil
from operator import attrgetter
from typing import Literal, NamedTuple

from curtsy.clock import DAY, MINUTE
from curtsy.history.roll_up import KEPT, ROLLED_UP_EARLIER
from curtsy.history.rows import ALL_BANDS, ALL_SOURCES, Span
from curtsy.history.tally import Tally, tally_of
from curtsy.history.totals import Point, SourceTotals, Totals, totals_of
from curtsy.store import Connection, Lookup, Statement

SPANS = (Span.MINUTE, Span.TEN_MINUTES, Span.HOUR, Span.DAY)
SOURCE_SPANS = (Span.HOUR, Span.DAY)
"""A source has no rows of minutes."""
# How long rows are surely not moved into longer ones: of all sources together, and of one.
SAME_FOR = KEPT[Span.MINUTE] - ROLLED_UP_EARLIER
SAME_FOR_SOURCES = DAY
MOST_POINTS = 1_000
LEAST_CANDIDATES = 50
"""Sources read of each hour and day, to find those with most of a period."""
MOST_CANDIDATES = 500

By = Literal["requests", "failures"]


_Tallies = defaultdict[int, Tally]
_at = attrgetter("at")


class _Row(NamedTuple):
    span: int
    source_id: int
    at: int
    band: int
    counts: str


_EACH = {"span": "smallint", "source_id": "bigint", "after": "bigint"}
_ROWS = Lookup(
    """
    SELECT span, source_id, at, band, counts FROM history
    WHERE span = {each_span} AND source_id = {each_source_id} AND at > {each_after} AND at < :until
    LIMIT 100000
    """,  # a limit keeps PostgreSQL from joining the whole table instead
    each=_EACH,
)
_BEGINS = Lookup(
    """
    SELECT at FROM history
    WHERE span = {each_span} AND source_id = 0 AND at > {each_after} AND at < :until
    """,
    each={"span": "smallint", "after": "bigint"},
)
_FIRST, _LAST = (
    Lookup(
        f"SELECT {end}(at) AS at FROM history WHERE span = {{each_span}} AND source_id = 0",  # noqa: S608
        each={"span": "smallint"},
    )
    for end in ("min", "max")
)
_NOT_COUNTED = Statement("SELECT at FROM history_batches WHERE NOT counted ORDER BY id LIMIT 1")
_NOT_FOLDED = Statement("SELECT at FROM history_batches ORDER BY id LIMIT 1")
_LARGEST: dict[By, Lookup] = {
    "requests": Lookup(
        """
        SELECT source_id FROM history
        WHERE span = {each_span} AND at = {each_at} AND source_id > 0
        ORDER BY requests DESC, source_id DESC LIMIT :most
        """,
        each={"span": "smallint", "at": "bigint"},
    ),
    "failures": Lookup(
        """
        SELECT source_id FROM history
        WHERE span = {each_span} AND at = {each_at} AND source_id > 0 AND failures > 0
        ORDER BY failures DESC, source_id DESC LIMIT :most
        """,
        each={"span": "smallint", "at": "bigint"},
    ),
}
_SUMS: dict[By, Lookup] = {
    by: Lookup(
        f"""
        SELECT source_id, sum({by}) AS number FROM history
        WHERE span = {{each_span}} AND source_id = {{each_source_id}} AND at > {{each_after}}
            AND at < :until
        GROUP BY source_id LIMIT 1
        """,  # noqa: S608
        each=_EACH,
    )
    for by in _LARGEST
}
_NAMES = Lookup("SELECT id, name FROM sources WHERE id = {each_id} LIMIT 1", each={"id": "bigint"})


def totals(connection: Connection, *, since: int, until: int) -> Totals:
    """What happened at all sources together, to the minute for the last three hours."""
    known = _known(connection, until)
    rows = _rows(connection, [ALL_SOURCES], SPANS, since, until)
    return _sum(rows, _covered(known, since, rows))


def of_sources(
    connection: Connection, source_ids: Sequence[int], *, since: int, until: int
) -> dict[int, Totals]:
    """What happened at each of these sources, to the hour for the last two days."""
    known = _known(connection, until, _NOT_FOLDED)
    rows = _rows(connection, source_ids, SOURCE_SPANS, since, until)
    covered = _covered(known, Span.HOUR.begin(since), rows)
    parts = _grouped(source_ids, rows)
    return {source_id: _sum(part, covered) for source_id, part in parts.items()}


def by_source(
    connection: Connection, *, since: int, until: int, most: int, by: By = "requests"
) -> list[SourceTotals]:
    """The sources with most requests or failed attempts, in that order.

    They are chosen among the first of each hour and day, so that the cost does not grow with the
    number of sources; what is said of each is complete.
    """
    names = largest(connection, since=since, until=until, most=most, by=by)
    found = of_sources(connection, list(names), since=since, until=until)
    return [SourceTotals(i, name, found[i]) for i, name in names.items()]


def largest(
    connection: Connection, *, since: int, until: int, most: int, by: By
) -> dict[int, str | None]:
    """The same sources by id, only their names; None: the source was deleted."""
    candidates = _candidates(connection, since, until, most=most, by=by)
    pairs = _pairs(candidates, SOURCE_SPANS, since)
    numbers: Counter[int] = Counter()
    for source_id, number in _SUMS[by].tuples(connection, pairs, until=until):
        numbers[source_id] += int(number)
    chosen = [source_id for source_id, _number in numbers.most_common(most)]
    names = dict(_NAMES.tuples(connection, [(i,) for i in chosen]))
    return {source_id: names.get(source_id) for source_id in chosen}


def newest(connection: Connection, *, since: int, until: int, ended: int) -> Totals:
    """The newest rows of the period, of all sources together, in which at least so many pages
    ended; all of its rows if those have fewer. For `SAME_FOR` that stays the same as time passes,
    as long as no more pages end."""
    return _sum_newest(_rows(connection, [ALL_SOURCES], SPANS, since, until), until, ended)


def newest_of_sources(
    connection: Connection, source_ids: Sequence[int], *, since: int, until: int, ended: int
) -> dict[int, Totals]:
    """The same of each of these sources, for `SAME_FOR_SOURCES`."""
    parts = _grouped(source_ids, _rows(connection, source_ids, SOURCE_SPANS, since, until))
    return {source_id: _sum_newest(part, until, ended) for source_id, part in parts.items()}


def series(connection: Connection, *, since: int, until: int, points: int) -> list[Point]:
    """What happened at all sources together, in at most so many spans of equal length. Spans in
    which nothing happened are included; none is shorter than the longest row of the period."""
    return overview(connection, since=since, until=until, points=points)[1]


def overview(
    connection: Connection, *, since: int, until: int, points: int
) -> tuple[Totals, list[Point]]:
    """The totals, and the same as a series, from one reading of the rows."""
    known = _known(connection, until)
    rows = _rows(connection, [ALL_SOURCES], SPANS, since, until)
    period = _covered(known, since, rows)
    if period.since >= period.until and not rows:
        return _sum(rows, period), []
    longest = max((Span(row.span).ms for row in rows), default=MINUTE)
    begin = period.since - period.since % longest
    end = max([period.until, *(row.at + 1 for row in rows)])
    spans = max(1, min(points, MOST_POINTS)) * longest
    length = ceil((end - begin) / spans) * longest
    bands, parts = _Tallies(Tally), _Tallies(Tally)
    for row in rows:
        tally = tally_of(row.counts)
        bands[row.band].merge(tally)
        parts[(row.at - begin) // length].merge(tally)
    return _whole(bands, period), [
        Point(at, length, totals_of(parts[n], since=at, until=at + length))
        for n, at in enumerate(range(begin, end, length))
    ]


def latest(connection: Connection, *, now: int) -> int:
    """Returns now; or the end of the newest row, if that is of a time to come: the clock was set
    back, and what was counted before keeps its time. At most a day ahead: a single minute under a
    clock that was wrong by years would stretch every series."""
    ends = [at + span.ms for span, at in _outermost(connection, _LAST) if at > now]
    return min(max(ends, default=now), now + DAY)


class _Period(NamedTuple):
    since: int
    until: int


def _known(connection: Connection, until: int, behind: Statement = _NOT_COUNTED) -> _Period:
    """From the first row up to `until`, or to what is not counted yet."""
    oldest = behind(connection).scalar()
    until = until if oldest is None else min(until, oldest)
    return _Period(min((at for _span, at in _outermost(connection, _FIRST)), default=until), until)


def _outermost(connection: Connection, of_span: Lookup) -> list[tuple[Span, int]]:
    return [
        (span, at)
        for span in SPANS
        for (at,) in of_span.tuples(connection, [(span,)])
        if at is not None
    ]


def _covered(known: _Period, since: int, rows: Iterable[_Row]) -> _Period:
    """The known part of the period, with the rows that overlap its beginning."""
    begin = max(known.since, min([since, *(row.at for row in rows)]))
    return _Period(min(begin, known.until), known.until)


def _rows(
    connection: Connection, source_ids: Iterable[int], spans: Sequence[Span], since: int, until: int
) -> list[_Row]:
    pairs = _pairs(source_ids, spans, since)
    return [_Row._make(row) for row in _ROWS.tuples(connection, pairs, until=until)]


def _pairs(
    source_ids: Iterable[int], spans: Sequence[Span], since: int
) -> list[tuple[int, int, int]]:
    """For each source and span: the beginnings of rows of the period are later than this."""
    return [(span, source_id, since - span.ms) for source_id in source_ids for span in spans]


def _candidates(connection: Connection, since: int, until: int, *, most: int, by: By) -> list[int]:
    """Sources that are among the first of an hour or day, those that are in most first."""
    begins = _BEGINS.tuples(connection, [(s, since - s.ms) for s in SPANS], until=until)
    spans = {(span, span.begin(at)) for (at,) in begins for span in SOURCE_SPANS}
    each = max(most, LEAST_CANDIDATES)
    found = _LARGEST[by].tuples(connection, sorted(spans), most=each)
    return [source_id for source_id, _n in
            Counter(i for (i,) in found).most_common(max(most, MOST_CANDIDATES))]  # fmt: skip


def _grouped(source_ids: Iterable[int], rows: Iterable[_Row]) -> dict[int, list[_Row]]:
    """The rows of each of these sources."""
    parts: dict[int, list[_Row]] = {source_id: [] for source_id in source_ids}
    for row in rows:
        parts[row.source_id].append(row)
    return parts


def _sum_newest(rows: Iterable[_Row], until: int, ended: int) -> Totals:
    whole, begin = Tally(), until
    for at, of_instant in groupby(sorted(rows, key=_at, reverse=True), key=_at):
        if whole.succeeded + whole.failed >= ended:
            break
        begin = at
        for row in of_instant:
            whole.add_stored(row.counts)
    return totals_of(whole, since=begin, until=until)


def _sum(rows: Iterable[_Row], period: _Period) -> Totals:
    bands = _Tallies(Tally)
    for row in rows:
        bands[row.band].add_stored(row.counts)
    return _whole(bands, period)


def _whole(bands: Mapping[int, Tally], period: _Period) -> Totals:
    """Of the bands together; the rows of a source are of none."""
    whole = Tally()
    for tally in bands.values():
        whole.merge(tally)
    known = {band: tally for band, tally in bands.items() if band != ALL_BANDS}
    return totals_of(whole, since=period.since, until=period.until, bands=known)
