"""A job's results: what its items ended with, in their order, read piece by piece."""

from dataclasses import dataclass
from typing import Any

import orjson

from curtsy.api.schemas.content import as_base64, as_text, unpacked
from curtsy.clock import rfc3339
from curtsy.model.jobs import ItemState, page_name
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


def article_of(row: Any) -> dict[str, Any]:
    """A page that was scraped. Unpacking makes it slow: not for the event loop."""
    made: dict[str, Any] = {
        "article_id": page_name(row.page_id),
        "url": row.url,
        "source": row.source_label,
        "category": row.category,
        "title": None,
        "content": None,
        "scraped_at": rfc3339(row.fetched_at),
        "cached": bool(row.cached),
    }
    if row.found_at != row.url:
        made["found_at"] = row.found_at
    content = unpacked(row.content, row.bytes)
    if row.scraper == "article":
        found: dict[str, Any] = orjson.loads(content)
        made["title"], made["content"] = found.pop("title", None), found.pop("text", None)
        return made | found
    text = as_text(content, row.content_type, row.charset)
    made["content_type"] = row.content_type
    if text is None:
        return made | {"content": as_base64(content), "content_encoding": "base64"}
    return made | {"content": text}


def failure_of(row: Any) -> dict[str, Any]:
    return {
        "article_id": page_name(row.page_id),
        "url": row.url,
        "source": row.source_label,
        "category": row.category,
        "error": row.error or "The job was cancelled.",
        "kind": row.kind,
        "attempted_at": rfc3339(row.ended_at),
    }


def as_lines(piece: Piece) -> bytes:
    """A line for each: a page that was scraped, or why it was not."""
    return b"".join(_line(row) for row in piece.rows)


def _line(row: Any) -> bytes:
    if is_success(row):
        made = {"status": "SCRAPED"} | article_of(row)
    else:
        cancelled = row.state == ItemState.CANCELLED
        made = {"status": "CANCELLED" if cancelled else "FAILED"} | failure_of(row)
    return orjson.dumps(made, option=orjson.OPT_APPEND_NEWLINE)


def as_answer(head: dict[str, Any], piece: Piece) -> bytes:
    """The document of the articles door: head, results, failures."""
    done = [article_of(row) for row in piece.rows if is_success(row)]
    failed = [failure_of(row) for row in piece.rows if not is_success(row)]
    body = head | {"results": done, "failed_articles": failed}
    return orjson.dumps(body | {"next_cursor": str(piece.last)} if piece.more else body)
