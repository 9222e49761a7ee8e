"""Counts of all time, which never fall: for Prometheus."""

from collections.abc import Mapping
from dataclasses import dataclass

from curtsy.history.tally import Tally, tally_of
from curtsy.history.totals import Totals, totals_of
from curtsy.store import Connection, Statement

MOST_SOURCES = 500


@dataclass(frozen=True, slots=True)
class Counters:
    """Since the history began; `since` and `until` of the totals mean nothing."""

    totals: Totals
    """With bands."""
    sources: Mapping[str, Totals]
    """By the name of a described source, since it was described; only those with requests."""


_ALL_TIME = Statement(
    "SELECT band, counts FROM history WHERE span = 0 AND source_id = 0 AND at = 0 AND band > 0"
)
_OF_DESCRIBED = Statement(
    """
    SELECT s.name, h.counts FROM sources s
    JOIN history h ON h.span = 0 AND h.source_id = s.id AND h.at = 0 AND h.band = 0
    WHERE s.described ORDER BY s.name LIMIT :most
    """
)


def counters(connection: Connection, *, most: int = MOST_SOURCES) -> Counters:
    """Up to what was last folded, which is seconds ago."""
    bands = {band: tally_of(counts) for band, counts in _ALL_TIME(connection).tuples()}
    whole = Tally()
    for tally in bands.values():
        whole.merge(tally)
    described = _OF_DESCRIBED(connection, most=most).tuples()
    return Counters(
        totals_of(whole, since=0, until=0, bands=bands),
        {name: totals_of(tally_of(counts), since=0, until=0) for name, counts in described},
    )
