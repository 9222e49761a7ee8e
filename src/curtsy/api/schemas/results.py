"""A job's results: what its items ended with, in their order, read piece by piece."""

from typing import Any

import orjson

from curtsy.api.schemas.content import as_base64, as_text, unpacked
from curtsy.clock import rfc3339
from curtsy.jobs.results import Piece, is_success
from curtsy.model.jobs import ItemState, page_name


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
