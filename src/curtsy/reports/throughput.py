"""Pages per minute, latency and success rate, from the newest events."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

import orjson

from curtsy.clock import MINUTE, SECOND
from curtsy.store import Connection, Statement

EVENTS_COUNTED = 5_000
"""Events read for the rate. If the last minute has more, the rate is over the time they span."""
EVENTS_READ = 1_000
"""Events read for latency and success rate."""
DONE = ("page_fetched", "page_not_modified")
PERCENTILES = (0.50, 0.95, 0.99)

# A page that several jobs wait for ends once but has an event for each job.
_ENDS = Statement(
    """
    WITH newest AS (SELECT at, name, page_id FROM events ORDER BY seq DESC LIMIT :most)
    SELECT count(*) AS seen, min(at) AS oldest, (
        SELECT count(*) FROM (
            SELECT DISTINCT page_id, at FROM newest
            WHERE at > :since AND name IN ('page_fetched', 'page_not_modified', 'page_failed')
        ) AS ends) AS pages
    FROM newest
    """
)
_NEWEST = Statement("SELECT at, name, page_id, data FROM events ORDER BY seq DESC LIMIT :most")


@dataclass(frozen=True, slots=True)
class Throughput:
    pages_per_minute: float
    """Pages that ended, successfully or not."""
    attempts: int
    """The newest attempts, from which the other figures are computed."""
    latency: tuple[int, ...] | None
    """Milliseconds from request to record: the 50th, 95th and 99th percentile."""
    success_rate: float | None
    """The share of successes among the last attempts of pages."""


def throughput(connection: Connection, *, now: int) -> Throughput:
    attempts = _newest_attempts(connection)
    took = sorted(data["ms"] for _name, data in attempts if _was_requested(data))
    ends = [name in DONE for name, _data in attempts if name in (*DONE, "page_failed")]
    return Throughput(
        pages_per_minute=_rate(connection, now=now),
        attempts=len(attempts),
        latency=tuple(percentile(took, part) for part in PERCENTILES) if took else None,
        success_rate=sum(ends) / len(ends) if ends else None,
    )


def _rate(connection: Connection, *, now: int) -> float:
    row = _ENDS(connection, since=now - MINUTE, most=EVENTS_COUNTED).one()
    span = MINUTE
    if row.seen == EVENTS_COUNTED:
        span = min(MINUTE, max(SECOND, now - row.oldest))
    return float(row.pages * MINUTE / span)


def _newest_attempts(connection: Connection) -> list[tuple[str, dict[str, Any]]]:
    """Event name and data of each attempt, once for all jobs that wait for its page."""
    rows = _NEWEST(connection, most=EVENTS_READ)
    found = {(row.page_id, row.at): row for row in rows if row.page_id is not None}
    return [(row.name, orjson.loads(row.data)) for row in found.values()]


def _was_requested(data: dict[str, Any]) -> bool:
    """False where robots.txt or a dead host ended the page without a request."""
    return bool(data["ms"] or data.get("status"))


def percentile(in_order: Sequence[int], part: float) -> int:
    """The smallest value that at least this part of the sorted values does not exceed."""
    return in_order[ceil(part * len(in_order)) - 1]
