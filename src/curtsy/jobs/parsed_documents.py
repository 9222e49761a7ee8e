"""Reads the JSON documents of a job one after the other: all of them may not fit in memory."""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import orjson
import zstandard

from curtsy.store import Connection, Statement

LARGEST_DOCUMENT = 64 * 2**20
LARGE_DOCUMENT = 2**20
"""Larger documents are parsed by Python's json: orjson takes twelve times their size in memory."""

_ITEMS = Statement(
    """
    SELECT i.page_id, i.document_version AS version, p.url FROM items i
    JOIN pages p ON p.id = i.page_id
    WHERE i.job_id = :job_id AND i.state = 1 ORDER BY i.position
    """
)
_DOCUMENT = Statement(
    "SELECT content, bytes FROM documents WHERE page_id = :page_id AND version = :version"
)


class ParsedDocument(NamedTuple):
    url: str
    """Of the page."""
    page: dict[str, Any] | None
    """None: the document is too large or cannot be parsed."""


def parsed_documents(connection: Connection, job_id: int) -> Iterator[ParsedDocument]:
    """Returns the documents of the pages that succeeded, in the order of the pages."""
    unpack = zstandard.ZstdDecompressor()
    for item in _ITEMS(connection, job_id=job_id).all():
        stored = _DOCUMENT(connection, page_id=item.page_id, version=item.version).one_or_none()
        if stored is None:
            continue
        page = _read(unpack, stored.content, stored.bytes)
        yield ParsedDocument(item.url, page if isinstance(page, dict) else None)
        del stored, page  # frees them before the next page is read


def _read(unpack: zstandard.ZstdDecompressor, packed: bytes, size: int) -> Any:
    if size > LARGEST_DOCUMENT:
        return None
    try:
        return parsed(unpack.decompress(packed, max_output_size=LARGEST_DOCUMENT))
    except zstandard.ZstdError:
        return None


def parsed(content: bytes) -> Any:
    """The document as JSON values; None: it cannot be parsed."""
    try:
        return (orjson if len(content) < LARGE_DOCUMENT else json).loads(content)
    except (ValueError, RecursionError):
        return None
