"""A job's results: what its items ended with, in their order, read piece by piece."""

from dataclasses import dataclass
from typing import Any

import orjson

from curtsy.api.content import as_base64, as_text, unpacked
from curtsy.clock import rfc3339
from curtsy.model.jobs import ItemState, page_name
from curtsy.store import Connection, Statement

AT_ONCE = 200
BYTES_AT_ONCE = 16 * 2**20
"""In one reading: at most so many items, or contents of so many bytes together."""

_ITEMS = Statement(
    """
    SELECT i.position, i.page_id, i.state, coalesce(i.url, p.url) AS url, i.source_label,
           i.category, i.cached, i.kind, i.error, i.fetched_at, i.ended_at, p.scraper,
           d.version, d.content_type, d.charset, d.bytes, d.url AS found_at
    FROM items i JOIN pages p ON p.id = i.page_id
    LEFT JOIN documents d ON d.page_id = i.page_id AND d.version = i.document_version
    WHERE i.job_id = :job_id AND i.position > :after AND i.state <> 0
    ORDER BY i.position LIMIT :most
    """
)
_CONTENTS = Statement(
    """
    SELECT d.page_id, d.content FROM {wanted}
    JOIN documents d ON d.page_id = wanted.page_id AND d.version = wanted.version
    """,
    wanted={"page_id": "bigint", "version": "int"},
)


@dataclass(frozen=True, slots=True)
class Piece:
    """Some items that ended, in order, with the contents of those that were scraped."""

    rows: list[Any]
    contents: dict[int, bytes]
    more: bool
    """There are, or may be, others behind these."""

    @property
    def last(self) -> int:
        position: int = self.rows[-1].position
        return position


def ended_items(connection: Connection, job_id: int, *, after: int, most: int) -> Piece:
    found = list(_ITEMS(connection, job_id=job_id, after=after, most=most + 1))
    rows: list[Any] = []
    room = 0
    for row in found[:most]:
        room += row.bytes or 0
        if rows and room > BYTES_AT_ONCE:
            break
        rows.append(row)
    wanted = [(row.page_id, row.version) for row in rows if row.version is not None]
    contents = (
        {r.page_id: r.content for r in _CONTENTS(connection, wanted=wanted)} if wanted else {}
    )
    return Piece(rows, contents, more=len(found) > len(rows))


def is_success(row: Any) -> bool:
    return bool(row.state == ItemState.DONE)


def article_of(row: Any, packed: bytes) -> dict[str, Any]:
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
    content = unpacked(packed, row.bytes)
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
    return b"".join(_line(row, piece.contents) for row in piece.rows)


def _line(row: Any, contents: dict[int, bytes]) -> bytes:
    if is_success(row):
        made = {"status": "SCRAPED"} | article_of(row, contents[row.page_id])
    else:
        cancelled = row.state == ItemState.CANCELLED
        made = {"status": "CANCELLED" if cancelled else "FAILED"} | failure_of(row)
    return orjson.dumps(made, option=orjson.OPT_APPEND_NEWLINE)


def as_answer(head: dict[str, Any], piece: Piece) -> bytes:
    """The document of the articles door: head, results, failures."""
    done = [article_of(row, piece.contents[row.page_id]) for row in piece.rows if is_success(row)]
    failed = [failure_of(row) for row in piece.rows if not is_success(row)]
    body = head | {"results": done, "failed_articles": failed}
    return orjson.dumps(body | {"next_cursor": str(piece.last)} if piece.more else body)
