"""A record as it is stored: compressed, with the hash that tells whether it changed."""

import asyncio
import base64
import hashlib

import zstandard

from curtsy.frontier.batch import Document
from curtsy.model.outcome import Record

COMPRESS_IN_THREAD_FROM = 256 * 1024

_compressor = zstandard.ZstdCompressor(level=3)


async def document_of(record: Record) -> Document:
    """Large ones are compressed off the loop."""
    if len(record.content) < COMPRESS_IN_THREAD_FROM:
        return _document(record, _compressor)
    return await asyncio.to_thread(_document, record, zstandard.ZstdCompressor(level=3))


def _document(record: Record, compressor: zstandard.ZstdCompressor) -> Document:
    digest = hashlib.blake2b(record.content, digest_size=16)
    digest.update(f"\0{record.content_type};{record.charset}".encode(errors="replace"))
    return Document(
        content=compressor.compress(record.content),
        hash=base64.b64encode(digest.digest()).decode()[:22],
        content_type=record.content_type,
        charset=record.charset,
        bytes=len(record.content),
    )
