"""A job's results as JSON: one document, or one line per result. A result is a page, or one of the
records that its scraper found on it."""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

import orjson

from curtsy.api.schemas.content import as_base64, as_text, decompressed
from curtsy.clock import rfc3339
from curtsy.jobs.job import Job
from curtsy.jobs.parsed_documents import parsed
from curtsy.jobs.results import EndedItem, Piece, ResultPlace
from curtsy.jobs.results_since import EndedSince
from curtsy.model.job_states import ItemState, JobState, page_name
from curtsy.model.status_words import word
from curtsy.scrapers import PAGES
from curtsy.scrapers.record_keys import records_on

CHUNK_BYTES = 256 * 2**10
"""Lines are sent in chunks of about this size: many small records make many lines."""


class FoundRows(NamedTuple):
    """Some results and failures as JSON."""

    done: list[orjson.Fragment]
    failed: list[orjson.Fragment]
    empty: int
    """Pages without a record: they have no row."""
    onward: ResultPlace | None
    """Where the next results are; None: there are no more."""
    pages: int
    """Items of the piece that were read to their end."""


def page_of(row: EndedItem) -> dict[str, Any]:
    """Returns a page that is a result itself, such as an article."""
    document = row.document
    assert document is not None, "a done item has its document"
    page = _origin(row) | {"title": None, "content": None} | _times(row)
    content = decompressed(document.content, document.bytes)
    if row.scraper == "article":
        found: dict[str, Any] = orjson.loads(content)
        page["title"], page["content"] = found.pop("title", None), found.pop("text", None)
        return page | found
    text = as_text(content, document.content_type, document.charset)
    page["content_type"] = document.content_type
    if text is None:
        return page | {"content": as_base64(content), "content_encoding": "base64"}
    return page | {"content": text}


def record_rows(row: EndedItem) -> Iterator[bytes] | None:
    """Returns the records of a page, a row each; None: its content is no page of records."""
    document = row.document
    assert document is not None, "a done item has its document"
    page = parsed(decompressed(document.content, document.bytes))
    if not isinstance(page, dict):
        return None
    origin = _origin(row) | _times(row) | {"scraper": row.scraper}
    return (_record_row(origin, key, fields) for key, fields in records_on(page, row.page_url))


def _record_row(origin: dict[str, Any], key: str, fields: Mapping[str, Any]) -> bytes:
    """Never fails: a scraper that disturbs its own process can store what cannot be written."""
    try:
        return orjson.dumps(origin | {"record_key": key, "record": fields})
    except orjson.JSONEncodeError:
        return orjson.dumps(origin | {"record_key": None, "record": None})


def _rows(row: EndedItem) -> Iterator[bytes]:
    """The rows of a scraped page. Decompression makes it slow: call it in a thread."""
    records = record_rows(row) if row.scraper not in PAGES else None
    return records if records is not None else iter((orjson.dumps(page_of(row)),))


def _origin(row: EndedItem) -> dict[str, Any]:
    return {
        "article_id": page_name(row.page_id), "url": row.url, "source": row.source_label,
        "category": row.category,
    }  # fmt: skip


def _times(row: EndedItem) -> dict[str, Any]:
    assert row.fetched_at is not None
    times: dict[str, Any] = {"scraped_at": rfc3339(row.fetched_at), "cached": row.cached}
    return times if row.found_at == row.url else times | {"found_at": row.found_at}


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


def rows_of(piece: Piece, place: ResultPlace, most: int, *, whole_pages: bool = False) -> FoundRows:
    """Returns at most so many results from this place on. With `whole_pages` no page is cut: the
    results are more than `most` if those of the last page are."""
    done, failed, empty = list[orjson.Fragment](), list[orjson.Fragment](), 0
    for pages, row in enumerate(piece.items):
        room = most - len(done) - len(failed)
        if room <= 0:
            return FoundRows(done, failed, empty, ResultPlace(row.position, 0), pages)
        if not row.is_success:
            failed.append(orjson.Fragment(orjson.dumps(failure_of(row))))
            continue
        read = place.read_of(row.position)
        found = list(islice(_rows(row), read, None if whole_pages else read + room + 1))
        if len(found) > room and not whole_pages:
            done += map(orjson.Fragment, found[:room])
            return FoundRows(done, failed, empty, ResultPlace(row.position, read + room), pages)
        done += map(orjson.Fragment, found)
        empty += not found and not read
    onward = ResultPlace(piece.last) if piece.more else None
    return FoundRows(done, failed, empty, onward, len(piece.items))


def lines_of(piece: Piece, place: ResultPlace) -> Iterator[bytes]:
    """Returns one line per result, in chunks: the result, or why the page failed."""
    chunk = bytearray()
    for row in piece.items:
        for line in _lines(row, place.read_of(row.position)):
            chunk += line
            if len(chunk) >= CHUNK_BYTES:
                yield bytes(chunk)
                chunk.clear()
    if chunk:
        yield bytes(chunk)


def as_document(job: Job, piece: Piece, place: ResultPlace, most: int) -> bytes:
    """Returns the results document: the job's figures, its results and its failures."""
    rows = rows_of(piece, place, most)
    body = _head(job) | {"results": rows.done, "failed_articles": rows.failed}
    if rows.empty:
        body["pages_without_records"] = rows.empty
    if rows.onward is not None:
        body["next_cursor"] = str(rows.onward)
    return orjson.dumps(body)


def as_document_since(job: Job, found: EndedSince, most: int) -> bytes:
    """Returns the same of pages that ended since an event. The records of a page come together, so
    those of the last page may be more than `most`."""
    items = found.piece.items
    rows = rows_of(found.piece, ResultPlace(), most, whole_pages=True)
    last = found.last_event if rows.pages == len(items) else items[rows.pages - 1].rank
    body = _head(job) | {"results": rows.done, "failed_articles": rows.failed}
    return orjson.dumps(body | {"last_event": last})


def _lines(row: EndedItem, read: int) -> Iterator[bytes]:
    if row.is_success:
        for found in islice(_rows(row), read, None):
            yield b'{"status":"SCRAPED",%b\n' % found[1:]
    else:
        cancelled = row.state == ItemState.CANCELLED
        line = {"status": "CANCELLED" if cancelled else "FAILED"} | failure_of(row)
        yield orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE)


def _head(job: Job) -> dict[str, Any]:
    state = JobState(job.state)
    return {
        "job_id": job.public_id, "status": word(job.door, state, job.done), "state": state,
        "door": job.door, "total_articles": job.total, "successful": job.done,
        "failed": job.failed,
    }  # fmt: skip
