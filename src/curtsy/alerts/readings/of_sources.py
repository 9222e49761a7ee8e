"""Reads the values of sources: success, use of the hourly limit, hosts given up."""

from collections.abc import Iterable, Mapping

import orjson

from curtsy.alerts.evaluation import Values
from curtsy.alerts.readings.system import percent_of_success
from curtsy.alerts.state_machine import GONE, Reading
from curtsy.clock import HOUR
from curtsy.history.reader import (
    SAME_FOR_SOURCES,
    largest,
    newest_of_sources,
    of_sources,
)
from curtsy.politeness.last_hour import LastHour
from curtsy.politeness.policy import Policy
from curtsy.store import Connection, Statement

MOST_SOURCES = 1_000
MOST_FAILING = 100

_NAMED = Statement(
    "SELECT s.id, s.name FROM {wanted} JOIN sources s ON s.name = wanted.name",
    wanted={"name": "text"},
)
_LIMITED = Statement(
    """
    SELECT name, policy, pace, paced_at FROM sources
    WHERE described AND paced_at > :since AND policy LIKE '%"requests_per_hour"%'
    ORDER BY paced_at DESC LIMIT :most
    """
)
_GIVEN_UP = Statement(
    """
    SELECT name, pace FROM sources WHERE paced_at IS NOT NULL AND pace LIKE '%"gone":%'
    ORDER BY paced_at DESC LIMIT :most
    """
)


def success_of_sources(
    connection: Connection, *, now: int, window: int, at_least: int, known: Iterable[str]
) -> Values:
    """Of the sources with most failures, and of those `known` to be in trouble: of the pages that
    ended in the window; where those are too few, of the last ones before, which are not older than
    a day. The value of a source is the same whether it is known or not."""
    names = {row.id: row.name for row in _NAMED(connection, wanted=[(name,) for name in known])}
    gone: dict[str, Reading] = dict.fromkeys(set(known) - set(names.values()), GONE)
    for span in {window, max(window, SAME_FOR_SOURCES)}:
        failing = largest(connection, since=now - span, until=now, most=MOST_FAILING, by="failures")
        names |= {source_id: name for source_id, name in failing.items() if name is not None}
    found = of_sources(connection, list(names), since=now - window, until=now)
    rates = {i: percent_of_success(totals, at_least) for i, totals in found.items()}
    few = [source_id for source_id, rate in rates.items() if rate is None]
    if few and window < SAME_FOR_SOURCES:
        last = newest_of_sources(connection, few, since=now - SAME_FOR_SOURCES, until=now,
                                 ended=at_least)  # fmt: skip
        rates |= {i: percent_of_success(totals, at_least) for i, totals in last.items()}
    return Values(gone | {names[i]: rate for i, rate in rates.items()}, absent=None)


def limit_use(connection: Connection, *, now: int) -> Values:
    """The requests of the last hour, of those that the policy allows in an hour, for sources whose
    policy has such a limit."""
    rows = list(_LIMITED(connection, since=now - HOUR, most=MOST_SOURCES))
    found: dict[str, Reading] = {}
    for row in rows:
        limit = Policy().with_overrides(orjson.loads(row.policy)).requests_per_hour
        if limit:
            hour = LastHour.since(row.paced_at, orjson.loads(row.pace or "{}").get("hour", ()))
            hour.forget(now)
            found[row.name] = 100 * hour.total / limit
    return Values(found, absent=None if len(rows) >= MOST_SOURCES else 0.0)


def hosts_given_up(connection: Connection) -> Values:
    """How many hosts of a source were given up since they last answered."""
    rows = list(_GIVEN_UP(connection, most=MOST_SOURCES))
    gone: Mapping[str, float] = {
        row.name: float(len(orjson.loads(row.pace).get("gone", ()))) for row in rows
    }
    return Values(gone, absent=None if len(rows) >= MOST_SOURCES else 0.0)
