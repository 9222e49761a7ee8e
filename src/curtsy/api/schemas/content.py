"""Stored documents in JSON: text as text, other content as base64."""

import base64
import threading

import zstandard

from curtsy.scrapers.charset import text_of
from curtsy.scrapers.charset_labels import codec_of
from curtsy.scrapers.media_type import type_by_looks

_TEXT_TYPES = ("application/json", "application/xml", "application/javascript",
               "application/x-javascript", "application/ecmascript")  # fmt: skip
_TEXT_ENDINGS = ("+json", "+xml")


class _Decompressor(threading.local):
    """One per thread: creating it costs ten times as much as decompressing a short text."""

    def __init__(self) -> None:
        self.zstd = zstandard.ZstdDecompressor()


_decompressor = _Decompressor()


def decompressed(content: bytes, size: int) -> bytes:
    """`size`: the length of the decompressed document."""
    return _decompressor.zstd.decompress(content, max_output_size=max(size, 1))


def as_text(content: bytes, content_type: str, charset: str | None) -> str | None:
    """Returns None for content that is not text. `charset` is that of the header. Never fails,
    whatever the bytes are."""
    if not is_text(content_type) and not (codec_of(charset) and _looks_like_text(content)):
        return None
    return text_of(content, content_type, charset)[0]


def as_base64(content: bytes) -> str:
    return base64.b64encode(content).decode()


def is_text(content_type: str) -> bool:
    kind = content_type.lower()
    return kind.startswith("text/") or kind in _TEXT_TYPES or kind.endswith(_TEXT_ENDINGS)


def _looks_like_text(content: bytes) -> bool:
    return type_by_looks(content).startswith("text/")
