"""A job's results: what its items ended with, in their order, read piece by piece."""

from typing import Any

import orjson

from curtsy.api.schemas.content import as_base64, as_text, unpacked
from curtsy.clock import rfc3339
from curtsy.jobs.results import EndedItem, Piece
from curtsy.model.jobs import ItemState, page_name


def article_of(row: EndedItem) -> dict[str, Any]:
    """A page that was scraped. Unpacking makes it slow: not for the event loop."""
    document = row.document
    assert document is not None, "a done item has its document"
    assert row.fetched_at is not None
    made: dict[str, Any] = {
        "article_id": page_name(row.page_id),
        "url": row.url,
        "source": row.source_label,
        "category": row.category,
        "title": None,
        "content": None,
        "scraped_at": rfc3339(row.fetched_at),
        "cached": row.cached,
    }
    if row.found_at != row.url:
        made["found_at"] = row.found_at
    content = unpacked(document.content, document.bytes)
    if row.scraper == "article":
        found: dict[str, Any] = orjson.loads(content)
        made["title"], made["content"] = found.pop("title", None), found.pop("text", None)
        return made | found
    text = as_text(content, document.content_type, document.charset)
    made["content_type"] = document.content_type
    if text is None:
        return made | {"content": as_base64(content), "content_encoding": "base64"}
    return made | {"content": text}


def failure_of(row: EndedItem) -> dict[str, Any]:
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
    return b"".join(_line(row) for row in piece.items)


def _line(row: EndedItem) -> bytes:
    if row.is_success:
        made = {"status": "SCRAPED"} | article_of(row)
    else:
        cancelled = row.state == ItemState.CANCELLED
        made = {"status": "CANCELLED" if cancelled else "FAILED"} | failure_of(row)
    return orjson.dumps(made, option=orjson.OPT_APPEND_NEWLINE)


def as_answer(head: dict[str, Any], piece: Piece) -> bytes:
    """The document of the articles door: head, results, failures."""
    done = [article_of(row) for row in piece.items if row.is_success]
    failed = [failure_of(row) for row in piece.items if not row.is_success]
    body = head | {"results": done, "failed_articles": failed}
    return orjson.dumps(body | {"next_cursor": str(piece.last)} if piece.more else body)
