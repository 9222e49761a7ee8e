"""Counts the pages that wait for a free worker only.

Deliberate delay is no backlog: of a source whose next request may start since ten seconds and whose
pace is one request in two seconds, six pages wait for a worker, however many are stored. Closed
hours, rests, paused sources and the hourly limit let nothing wait for a worker.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import orjson

from curtsy.clock import SECOND
from curtsy.model.job_states import Band
from curtsy.politeness.policy import Policy
from curtsy.store import Connection, Statement

SOURCES_READ = 200
"""Of each band, those ready longest; and as many leased sources. Each of them has a page that
waits, so that with more sources the value is above a hundred anyway."""
PAGES_COUNTED = 200
"""Of each source."""
LEASED_WITHIN = 2 * SECOND
"""A worker with a free slot leases a ready source within this time."""
REPORTED_WITHIN = 5 * SECOND
"""A leased source that could start a request is reported with a later turn within this time."""

_READY = Statement(
    """
    SELECT id, ready_at AS since, delay_ms, policy FROM sources
    WHERE owner IS NULL AND ready_at IS NOT NULL AND NOT paused AND band = :band
      AND ready_at <= :before
    ORDER BY ready_at LIMIT :most
    """
)
_LEASED = Statement(
    """
    SELECT id, next_fetch_at AS since, delay_ms, policy FROM sources
    WHERE owner IS NOT NULL AND NOT paused AND next_fetch_at <= :before
    LIMIT :most
    """
)
_WAITING = Statement(
    """
    SELECT wanted.id, (SELECT count(*) FROM (
        SELECT 1 FROM visits v WHERE v.source_id = wanted.id AND v.due_at IS NULL LIMIT :most
        ) AS found) AS number
    FROM {wanted}
    """,
    wanted={"id": "bigint"},
)
_WORKERS = Statement(
    "SELECT slots, in_flight FROM workers WHERE lease_until > :now AND NOT draining"
)


class _Source(NamedTuple):
    id: int
    since: int
    """When its next request could have started."""
    delay_ms: int
    policy: str
    """JSON."""


def ready_pages(connection: Connection, *, defaults: Policy, now: int) -> float:
    """`defaults`: the policy of sources that nobody described."""
    sources = [
        _Source._make(row)
        for band in Band
        for row in _READY(connection, band=int(band), before=now - LEASED_WITHIN, most=SOURCES_READ)
    ]
    if _slots_are_busy(connection, now):
        rows = _LEASED(connection, before=now - REPORTED_WITHIN, most=SOURCES_READ)
        sources += [_Source._make(row) for row in rows]
    allowed = {source.id: _allowed(source, defaults, now) for source in sources}
    return float(sum(_waiting(connection, allowed)))


def _waiting(connection: Connection, allowed: dict[int, int]) -> Iterable[int]:
    """For each source, the pages that its pace has allowed by now, and that exist."""
    wanted = [(source_id,) for source_id, number in allowed.items() if number]
    rows: Sequence[tuple[int, int]] = (
        _WAITING(connection, wanted=wanted, most=PAGES_COUNTED).tuples() if wanted else []
    )
    for source_id, number in rows:
        # A ready source has at least one page that may start: a retry that is due.
        yield min(allowed[source_id], max(1, number))


def _allowed(source: _Source, defaults: Policy, now: int) -> int:
    """How many requests the source allowed since it was ready."""
    policy = defaults.with_overrides(orjson.loads(source.policy))
    late = now - source.since
    if policy.hours is not None and policy.hours.closed:
        if policy.hours.within(now):
            return 0
        late -= policy.hours.closed_between(source.since, now)
    number = (1 + int(late // max(source.delay_ms, 1))) * policy.concurrency
    if policy.requests_per_hour:
        number = min(number, policy.burst_limit + int(late // policy.spread))
    return max(1, number)


def _slots_are_busy(connection: Connection, now: int) -> bool:
    slots = open_requests = 0
    for row in _WORKERS(connection, now=now):
        slots += row.slots
        open_requests += len(orjson.loads(row.in_flight))
    return 0 < slots <= open_requests
