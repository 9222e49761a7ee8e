"""Decodes the bytes of a page to text by one rule for every scraper, in the browsers' order: byte
order mark, header, declaration in the page, detection. Never raises."""

import codecs
import re
from functools import lru_cache

import cchardet

from curtsy.scrapers.charset_labels import USER_DEFINED, codec_of, codec_of_detected
from curtsy.scrapers.media_type import is_html, is_xml, media_type

# Browsers want declarations within 1,024 bytes, but follow a later one too. Reading on would cost
# time on hostile pages.
_DECLARATION_BYTES = 4_096
_DETECTION_BYTES = 64 * 1024
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_LABEL = r"[\"']?\s*([^\s\"';,>]{1,40})"
_IN_HEADER = re.compile(rf"[;\s]charset\s*=\s*{_LABEL}", re.IGNORECASE)
_IN_CONTENT = re.compile(rf"charset\s*=\s*{_LABEL}".encode(), re.IGNORECASE)
_IN_XML = re.compile(rb"<\?xml[^>]{0,200}?\sencoding\s*=\s*[\"']([^\"']{1,40})[\"']")
_TAG = re.compile(rb"<!--(?:-?>|.*?-->|.*)|<meta(?=[\s/])|<[/!?]?[a-z]", re.IGNORECASE | re.DOTALL)
_ATTRIBUTE = re.compile(
    rb"[\s/]*(?:(?P<end>>)|(?P<name>=?[^\s/>=]*)\s*(?:=\s*"
    rb"(?:\"(?P<double>[^\"]*)\"|'(?P<single>[^']*)'|(?P<bare>[^\s>\"'][^\s>]*)|(?=>)))?)"
)
_MOST_ATTRIBUTES = 100
_UTF16 = {"<?x".encode("utf-16-le"): "utf-16-le", "<?x".encode("utf-16-be"): "utf-16-be"}
_ASCII_IN_UTF16 = re.compile(rb"(?:[\t-~]\0){2}|(?P<be>(?:\0[\t-~]){2})")


def text_of(body: bytes, content_type: str | None, label: str | None = None) -> tuple[str, str]:
    """Returns the text and the codec of its charset. `label` is the charset of the header, where
    the content type comes without its parameters."""
    for bom, charset in _BOMS:
        if body.startswith(bom):
            return decoded(body[len(bom) :], charset), charset
    charset = charset_of(body, content_type, label)
    return decoded(body, charset), charset


def charset_of(body: bytes, content_type: str | None, label: str | None = None) -> str:
    """Returns the codec of a body without a byte order mark."""
    charset = codec_of(label or charset_in_header(content_type))
    if charset is None:
        charset = _charset_in_markup(body, media_type(content_type)) or _detected(body)
    if charset == "utf-16":  # the label leaves open which; by the standard it is little-endian
        return _utf16_by_looks(body) or "utf-16-le"
    return "utf-32-le" if charset == "utf-32" else charset


def decoded(body: bytes, charset: str) -> str:
    """Decodes in time linear in the size, whatever the bytes are."""
    if (table := _TABLES.get(charset)) is not None:
        return codecs.charmap_decode(body, "replace", table)[0]
    if charset == "euc_jp":  # has not the characters that vendors added, such as circled numbers
        try:
            return body.decode(charset)
        except UnicodeDecodeError:
            return body.decode("euc_jis_2004", errors="replace")
    return body.decode(charset, errors="replace")


def _table_of(charset: str) -> str:
    """Returns the characters of all bytes. As in browsers, the bytes from 0x80 to 0x9F that
    the charset leaves out are control characters."""
    found = (bytes([n]).decode(charset, errors="replace") for n in range(256))
    return "".join(chr(n) if c == "\ufffd" and n < 0xA0 else c for n, c in enumerate(found))


_TABLES = {name: _table_of(name) for name in ("cp874", *(f"cp{n}" for n in range(1250, 1259)))} | {
    USER_DEFINED: "".join(chr(n if n < 0x80 else 0xF700 + n) for n in range(256))
}


@lru_cache(maxsize=128)
def charset_in_header(content_type: str | None) -> str | None:
    """Returns the first charset of a header; of a repeated header, that of the last."""
    last = None
    for value in (content_type or "").split(","):
        found = _IN_HEADER.search(value)
        last = found[1] if found else last
    return last


def _charset_in_markup(body: bytes, kind: str) -> str | None:
    """Returns the charset that HTML or XML declares."""
    start = body[:_DECLARATION_BYTES]
    if not (is_html(kind) or is_xml(kind)):
        return None
    if (wide := _UTF16.get(start[:6])) is not None:
        return wide
    found = _IN_XML.match(start.lstrip()) if start else None
    in_xml = codec_of(found[1].decode("latin-1")) if found else None
    charset = in_xml if is_xml(kind) and in_xml is not None else _charset_in_meta(start) or in_xml
    # The declaration was readable as ASCII, so the page cannot be UTF-16.
    return "utf-8" if charset is not None and charset.startswith(("utf-16", "utf-32")) else charset


def _charset_in_meta(start: bytes) -> str | None:
    at = 0
    while (tag := _TAG.search(start, at)) is not None:
        at = tag.end()
        if tag[0].startswith(b"<!--"):
            continue
        attributes, at = _attributes(start, at)
        if tag[0].lower() != b"<meta":
            continue
        label = attributes.get(b"charset")
        if label is None and attributes.get(b"http-equiv", b"").lower() == b"content-type":
            found = _IN_CONTENT.search(attributes.get(b"content", b""))
            label = found[1] if found else None
        if label is not None and (charset := codec_of(label.decode("latin-1"))) is not None:
            return "cp1252" if charset == USER_DEFINED else charset
    return None


def _attributes(start: bytes, at: int) -> tuple[dict[bytes, bytes], int]:
    """Returns the attributes of the tag that begins before `at`, and where the tag ends."""
    attributes: dict[bytes, bytes] = {}
    for _ in range(_MOST_ATTRIBUTES):
        found = _ATTRIBUTE.match(start, at)
        if found is None or found["end"] or found.end() == at:
            return attributes, found.end() if found else at
        at = found.end()
        value = found["double"] or found["single"] or found["bare"] or b""
        attributes.setdefault(found["name"].lower(), value)
    return attributes, at


def _detected(body: bytes) -> str:
    sample = body[:_DETECTION_BYTES]
    if (wide := _utf16_by_looks(sample)) is not None:
        return wide
    shifts = b"\x1b$" in sample or b"\x1b(" in sample  # ISO-2022: ASCII with escapes
    try:
        # A sample may end within a character, the whole body may not.
        codecs.getincrementaldecoder("utf-8")().decode(sample, len(sample) == len(body))
    except UnicodeDecodeError:
        shifts = True
    found = codec_of_detected(cchardet.detect(sample)["encoding"]) if shifts else "utf-8"
    return found or ("utf-8" if sample.isascii() else "cp1252")


def _utf16_by_looks(body: bytes) -> str | None:
    """Returns which UTF-16 it is: markup and JSON begin with two ASCII characters; in other text,
    one of each two bytes is often zero and the other hardly ever."""
    if (begins := _ASCII_IN_UTF16.match(body)) is not None:
        return "utf-16-be" if begins["be"] else "utf-16-le"
    sample = body[:1024]
    high, low = sample[::2].count(0), sample[1::2].count(0)
    more, fewer = max(high, low), min(high, low)
    if more < max(2, len(sample) // 16) or more < 4 * fewer:
        return None
    return "utf-16-be" if high > low else "utf-16-le"
