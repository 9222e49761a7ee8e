"""Stored documents in JSON: text as text, other content as base64."""

import base64
import codecs
import threading

import zstandard

_TEXT_TYPES = ("application/json", "application/xml", "application/javascript",
               "application/x-javascript", "application/ecmascript")  # fmt: skip
_TEXT_ENDINGS = ("+json", "+xml")
_CHARSETS = ("ascii", "utf-8", "utf-16", "utf-32", "iso8859", "cp", "koi8", "mac-", "tis-620",
             "gb", "hz", "big5", "shift_jis", "euc", "iso2022", "johab", "ptcp154")  # fmt: skip
"""Prefixes of Python's names of text charsets. Python's other codecs are escapes or transforms,
and slow."""


class _Decompressor(threading.local):
    """One per thread: creating it costs ten times as much as decompressing a short text."""

    def __init__(self) -> None:
        self.zstd = zstandard.ZstdDecompressor()


_decompressor = _Decompressor()


def decompressed(content: bytes, size: int) -> bytes:
    """`size`: the length of the decompressed document."""
    return _decompressor.zstd.decompress(content, max_output_size=max(size, 1))


def as_text(content: bytes, content_type: str, charset: str | None) -> str | None:
    """Returns None for content that is not text. Never fails, whatever the bytes are."""
    if not (charset or is_text(content_type)):
        return None
    if known := _known_charset(charset):
        return content.decode(known, "replace")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("latin-1")


def as_base64(content: bytes) -> str:
    return base64.b64encode(content).decode()


def is_text(content_type: str) -> bool:
    kind = content_type.lower()
    return kind.startswith("text/") or kind in _TEXT_TYPES or kind.endswith(_TEXT_ENDINGS)


def _known_charset(charset: str | None) -> str | None:
    try:
        name = codecs.lookup(charset or "").name
    except (LookupError, ValueError):
        return None
    if name == "utf-8":
        return "utf-8-sig"
    return name if name.startswith(_CHARSETS) else None
