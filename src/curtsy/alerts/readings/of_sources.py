"""Reads the values of sources: success, use of the hourly limit, hosts given up."""

from collections.abc import Iterable, Mapping

import orjson

from curtsy.alerts.evaluation import Values
from curtsy.alerts.state_machine import Reading
from curtsy.clock import HOUR
from curtsy.history.reader import by_source, of_sources
from curtsy.history.totals import Totals
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
    """Of the sources with most failures, and of those `known` to be in trouble. A source whose
    pages nobody fetched is unknown."""
    since = now - window
    failing = by_source(connection, since=since, until=now, most=MOST_FAILING, by="failures")
    found = {one.name: one.totals for one in failing if one.name is not None}
    rows = _NAMED(connection, wanted=[(name,) for name in known if name not in found])
    others = {row.id: row.name for row in rows}
    for source_id, totals in of_sources(connection, list(others), since=since, until=now).items():
        found[others[source_id]] = totals
    values = {name: _rate(totals, at_least) for name, totals in found.items()}
    return Values(values, absent=None)


def _rate(totals: Totals, at_least: int) -> Reading:
    rate = totals.success_rate
    is_known = rate is not None and totals.succeeded + totals.failed >= at_least
    return 100 * rate if is_known and rate is not None else None


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
