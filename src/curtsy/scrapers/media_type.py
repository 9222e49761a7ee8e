"""The media type of a page: as its header says, else as the beginning of its body looks."""

import re
from functools import lru_cache

OCTETS = "application/octet-stream"
PLAIN = "text/plain"
_FORM = re.compile(r"[!#$%&'*+.^_`|~0-9a-z-]+/[!#$%&'*+.^_`|~0-9a-z-]+")
_SAYS_NOTHING = frozenset({"", "*/*", "unknown/unknown", "application/unknown"})
_LOOKED_AT = 1_445
_LOOKS = (
    (re.compile(rb"\s*<(!doctype\s+html|!--|(html|head|script|iframe|h1|div|font|table|a|style|"
                rb"title|b|body|br|p|article|main|section|meta|base|ul|ol|span)[\s/>])", re.I),
     "text/html"),
    (re.compile(rb"\s*<\?xml\s"), "text/xml"),
    (re.compile(rb"%PDF-"), "application/pdf"),
    (re.compile(rb"\x89PNG\r\n\x1a\n"), "image/png"),
    (re.compile(rb"GIF8[79]a"), "image/gif"),
    (re.compile(rb"\xff\xd8\xff"), "image/jpeg"),
    (re.compile(rb"RIFF....WEBPVP", re.DOTALL), "image/webp"),
    (re.compile(rb"\x1f\x8b\x08"), "application/gzip"),
    (re.compile(rb"PK\x03\x04"), "application/zip"),
)  # fmt: skip
_BOM = re.compile(rb"\xef\xbb\xbf|\xff\xfe|\xfe\xff")
_BINARY = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")


@lru_cache(maxsize=128)
def media_type(content_type: str | None) -> str:
    """Returns the type without parameters, in lower case; of a repeated header the last valid one;
    empty: the header says nothing."""
    last = ""
    for value in (content_type or "").lower().split(","):
        kind = value.partition(";")[0].strip()
        last = kind if _FORM.fullmatch(kind) else last
    return "" if last in _SAYS_NOTHING else last


def media_type_of(content_type: str | None, body: bytes) -> str:
    """Returns the type that the header says; without one, what the body looks like."""
    return media_type(content_type) or type_by_looks(body)


def type_by_looks(body: bytes) -> str:
    """Returns the type of the body by its first bytes, much as browsers do."""
    start = body[:_LOOKED_AT]
    if marked := _BOM.match(start):
        start = start[marked.end() :].replace(b"\0", b"")
    elif start[:1] == b"<" or start[1:2] == b"<":
        start = start.replace(b"\0", b"")  # UTF-16 without a mark
    for looks, kind in _LOOKS:
        if looks.match(start):
            return kind
    return OCTETS if _BINARY.search(start) and not marked else PLAIN


def is_html(kind: str) -> bool:
    return kind in ("", "text/html", "application/xhtml+xml")


def is_xml(kind: str) -> bool:
    return kind in ("application/xml", "text/xml") or kind.endswith("+xml")
