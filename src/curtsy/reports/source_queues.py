"""The sources where most visits wait, among those that workers hold or could lease."""

from collections.abc import Collection
from typing import NamedTuple

from curtsy.store import Connection, Statement

COUNT_CAP = 1_000
SOURCES_READ = 100
"""Leased sources, and sources that have been ready longest; as many of each."""

_LEASED_OR_READY = Statement(
    """
    SELECT id FROM (SELECT id FROM sources WHERE owner IS NOT NULL LIMIT :most) AS leased
    UNION SELECT id FROM (
        SELECT id FROM sources
        WHERE owner IS NULL AND ready_at IS NOT NULL AND NOT paused AND band = 1
        ORDER BY ready_at LIMIT :most) AS high
    UNION SELECT id FROM (
        SELECT id FROM sources
        WHERE owner IS NULL AND ready_at IS NOT NULL AND NOT paused AND band = 2
        ORDER BY ready_at LIMIT :most) AS medium
    UNION SELECT id FROM (
        SELECT id FROM sources
        WHERE owner IS NULL AND ready_at IS NOT NULL AND NOT paused AND band = 3
        ORDER BY ready_at LIMIT :most) AS low
    """
)
_WAITING = Statement(  # in halves, one for each index
    """
    SELECT s.id, s.name,
        (SELECT count(*) FROM (SELECT 1 AS one FROM visits v WHERE v.source_id = s.id
                               AND v.due_at IS NULL LIMIT :most) AS ready) AS ready,
        (SELECT count(*) FROM (SELECT 1 AS one FROM visits v WHERE v.source_id = s.id
                               AND v.due_at IS NOT NULL LIMIT :most) AS later) AS later
    FROM sources s WHERE s.id IN (SELECT id FROM {wanted})
    """,
    wanted={"id": "bigint"},
)


class SourceQueue(NamedTuple):
    """The visits of a source, open requests included; each number is counted up to `COUNT_CAP`."""

    source_id: int
    name: str
    ready: int
    later: int
    """Visits that wait for an instant: retries, mostly."""

    @property
    def capped(self) -> bool:
        return max(self.ready, self.later) >= COUNT_CAP


def source_queues(
    connection: Connection, *, most: int, also: Collection[int] = ()
) -> list[SourceQueue]:
    """The longest queues first. `also` are ids of other sources to be considered."""
    known = set(_LEASED_OR_READY(connection, most=SOURCES_READ).scalars()) | set(also)
    wanted = [(source_id,) for source_id in sorted(known)]
    rows = _WAITING(connection, wanted=wanted, most=COUNT_CAP).tuples()
    queues = [SourceQueue._make(row) for row in rows]
    queues.sort(key=lambda queue: (-queue.ready - queue.later, queue.name))
    return [queue for queue in queues if queue.ready or queue.later][:most]
