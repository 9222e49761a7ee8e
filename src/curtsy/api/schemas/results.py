"""A job's results as JSON: one document, or one line per page."""

from typing import Any

import orjson

from curtsy.api.schemas.content import as_base64, as_text, decompressed
from curtsy.clock import rfc3339
from curtsy.jobs.job import Job
from curtsy.jobs.results import EndedItem, Piece
from curtsy.model.job_states import ItemState, JobState, page_name
from curtsy.model.status_words import word


def article_of(row: EndedItem) -> dict[str, Any]:
    """Returns a scraped page. Decompression makes it slow: call it in a thread."""
    document = row.document
    assert document is not None, "a done item has its document"
    assert row.fetched_at is not None
    article: dict[str, Any] = {
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
        article["found_at"] = row.found_at
    content = decompressed(document.content, document.bytes)
    if row.scraper == "article":
        found: dict[str, Any] = orjson.loads(content)
        article["title"], article["content"] = found.pop("title", None), found.pop("text", None)
        return article | found
    text = as_text(content, document.content_type, document.charset)
    article["content_type"] = document.content_type
    if text is None:
        return article | {"content": as_base64(content), "content_encoding": "base64"}
    return article | {"content": text}


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
    """Returns one line per page: the scraped page, or why it failed."""
    return b"".join(_line(row) for row in piece.items)


def as_document(job: Job, piece: Piece, last_event: int | None = None) -> bytes:
    """Returns the results document: the job's figures, its results and its failures. Results after
    an event go on after `last_event`, others after a position."""
    done = [article_of(row) for row in piece.items if row.is_success]
    failed = [failure_of(row) for row in piece.items if not row.is_success]
    body = _head(job) | {"results": done, "failed_articles": failed}
    if last_event is not None:
        return orjson.dumps(body | {"last_event": last_event})
    return orjson.dumps(body | {"next_cursor": str(piece.last)} if piece.more else body)


def _line(row: EndedItem) -> bytes:
    if row.is_success:
        line = {"status": "SCRAPED"} | article_of(row)
    else:
        cancelled = row.state == ItemState.CANCELLED
        line = {"status": "CANCELLED" if cancelled else "FAILED"} | failure_of(row)
    return orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE)


def _head(job: Job) -> dict[str, Any]:
    state = JobState(job.state)
    return {
        "job_id": job.public_id, "status": word(job.door, state, job.done), "state": state,
        "door": job.door, "total_articles": job.total, "successful": job.done,
        "failed": job.failed,
    }  # fmt: skip
