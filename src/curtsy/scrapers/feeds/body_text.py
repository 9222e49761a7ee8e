"""The text of a feed or sitemap: unpacked if its body is gzip, decoded, and never longer than a
limit."""

import zlib
from collections.abc import Callable

from curtsy.model.outcome import Reply
from curtsy.scrapers.charset import charset_of, decoded, text_of

MOST_BYTES = 50 * 2**20
"""Of the unpacked body; the limit that the sitemap protocol sets, too."""
GZIP_MAGIC = b"\x1f\x8b"
STEP = 64 * 1024
MOST_MEMBERS = 1_000
_BOMS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff")
_ESCAPE = b"\x1b"
"""Begins the shifts of ISO-2022-JP, whose bytes are valid ASCII."""
_UNKNOWN = "\ufffd"

Warn = Callable[[str], None]


class BadGzip(ValueError):
    """The body begins like gzip and cannot be unpacked; the text is a sentence."""


def body_text(reply: Reply, warn: Warn) -> tuple[str, str]:
    """Returns the text and the codec of its charset. Raises `BadGzip`."""
    body = _unpacked(reply.body, warn)
    if len(body) > MOST_BYTES:
        warn(f"The body is larger than {MOST_BYTES // 2**20} MiB; the rest was not read.")
        body = body[:MOST_BYTES]
    return _decoded(body, reply.headers.get("content-type"), packed=body is not reply.body)


def _unpacked(body: bytes, warn: Warn) -> bytes:
    """Unpacks gzip up to one byte more than the limit. Time and memory are linear in the limit."""
    if not body.startswith(GZIP_MAGIC):
        return body
    pieces: list[bytes] = []
    at, room = 0, MOST_BYTES + 1
    stream, members = zlib.decompressobj(31), 1
    try:
        while at < len(body) and room > 0:
            step = body[at : at + STEP]
            pieces.append(stream.decompress(step, room))
            room -= len(pieces[-1])
            at += len(step) - len(stream.unused_data)
            if stream.eof:
                if not body.startswith(GZIP_MAGIC, at) or members == MOST_MEMBERS:
                    break
                stream, members = zlib.decompressobj(31), members + 1
    except zlib.error as error:
        if not any(pieces):
            raise BadGzip(f"The body is gzip that cannot be unpacked ({error}).") from None
        warn(f"The gzip body is damaged ({error}); what came before was read.")
    else:
        if not stream.eof and room > 0:
            warn("The gzip body ends too early; what came before was read.")
    return b"".join(pieces)


def _decoded(body: bytes, content_type: str | None, *, packed: bool) -> tuple[str, str]:
    """Decodes by the byte order mark, else as UTF-8 where the bytes are valid UTF-8, whatever is
    declared: text in another charset hardly ever is. Else the declaration counts, if it fits."""
    declared = "text/xml" if packed else content_type  # the header is about the packed bytes
    if body.startswith(_BOMS) or b"\0" in body[:64] or _ESCAPE in body[:STEP]:
        return text_of(body, declared)
    try:
        return body.decode(), "utf-8"
    except UnicodeDecodeError as error:
        if error.start >= len(body) - 3:  # cut within a character
            return body[: error.start].decode(), "utf-8"
    charset = charset_of(body, declared)
    if charset in ("utf-8", "ascii") and not _is_mostly_utf8(body):
        charset = charset_of(body, "text/plain")  # by detection
    return decoded(body, charset), charset


def _is_mostly_utf8(body: bytes) -> bool:
    text = body.decode(errors="replace")
    beyond = len(text) - len(text.encode("ascii", "ignore"))
    return text.count(_UNKNOWN) * 4 <= beyond
