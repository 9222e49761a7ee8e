"""A job's results: what its items ended with, in their order, read piece by piece."""

from dataclasses import dataclass
from typing import Any

from curtsy.model.jobs import ItemState
from curtsy.store import Connection, Statement

AT_ONCE = 200
BYTES_AT_ONCE = 16 * 2**20
"""In one reading: at most so many items, and none behind contents of so many bytes."""
LIGHT_BYTES = 64 * 2**10

_ITEMS = Statement(
    """
    SELECT found.*, c.content FROM (
        SELECT i.position, i.page_id, i.state, coalesce(i.url, p.url) AS url, i.source_label,
               i.category, i.cached, i.kind, i.error, i.fetched_at, i.ended_at, p.scraper,
               d.version, d.content_type, d.charset, d.bytes, d.url AS found_at,
               sum(coalesce(d.bytes, 0)) OVER (ORDER BY i.position) - coalesce(d.bytes, 0)
                   AS bytes_before
        FROM (SELECT * FROM items WHERE job_id = :job_id AND position > :after AND state <> 0
              ORDER BY position LIMIT :most) i
        JOIN pages p ON p.id = i.page_id
        LEFT JOIN documents d ON d.page_id = i.page_id AND d.version = i.document_version
    ) found
    LEFT JOIN documents c ON c.page_id = found.page_id AND c.version = found.version
        AND found.bytes_before < :most_bytes
    ORDER BY found.position
    """
)


@dataclass(frozen=True, slots=True)
class Piece:
    """Some items that ended, in order, with the contents of those that were scraped."""

    rows: list[Any]
    more: bool
    """There are, or may be, others behind these."""

    @property
    def is_light(self) -> bool:
        """Made into an answer in no time, so that the event loop may do it."""
        return sum(row.bytes or 0 for row in self.rows) <= LIGHT_BYTES

    @property
    def last(self) -> int:
        position: int = self.rows[-1].position
        return position


def ended_items(connection: Connection, job_id: int, *, after: int, most: int) -> Piece:
    found = _ITEMS(connection, job_id=job_id, after=after, most=most + 1,
                   most_bytes=BYTES_AT_ONCE).all()  # fmt: skip
    rows = [row for row in found[:most] if row.bytes_before < BYTES_AT_ONCE]
    return Piece(rows, more=len(found) > len(rows))


def is_success(row: Any) -> bool:
    return bool(row.state == ItemState.DONE)
