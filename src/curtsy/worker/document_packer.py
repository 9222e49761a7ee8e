"""Compresses the documents of a flush, in a thread: the event loop goes on.

All documents are compressed by one call. A call for each would hand the interpreter's lock over
twice a document, and a busy event loop keeps it for milliseconds each time.
"""

import asyncio
from collections.abc import Iterable
from typing import Any

import zstandard

from curtsy.frontier.batch import Document, Result
from curtsy.model.content_digest import content_digest
from curtsy.model.outcome import Record


def unpacked(record: Record) -> Document:
    """Returns the document of a record; its hash is that of the content before compression, unless
    the scraper's process said what is to be compared."""
    digest = record.digest or content_digest(record.content, record.content_type, record.charset)
    return Document(record.content, digest, record.content_type, record.charset,
                    bytes=len(record.content), packed=False)  # fmt: skip


class DocumentPacker:
    """Packs one batch at a time: its compressor is used by one thread."""

    def __init__(self) -> None:
        self._compressor = zstandard.ZstdCompressor(level=3)

    async def pack(self, results: Iterable[Result]) -> None:
        """Packs all documents of the results that are not packed yet."""
        waiting = [r.document for r in results if r.document is not None and not r.document.packed]
        if not waiting:
            return
        contents = [document.content for document in waiting]
        packed = await asyncio.to_thread(self._compressed, contents)
        for document, content in zip(waiting, packed, strict=True):
            document.content, document.packed = content, True

    def _compressed(self, contents: list[bytes]) -> list[bytes]:
        whole: list[Any] = [content for content in contents if content]
        frames = iter(self._compressor.multi_compress_to_buffer(whole) if whole else ())
        empty = self._compressor.compress(b"")
        return [next(frames).tobytes() if content else empty for content in contents]
