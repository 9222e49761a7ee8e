"""Decodes the bytes of a page to text by its declared or detected charset. Never raises."""

import codecs
import re

import cchardet

# Declarations stand at the start of a page; reading further would cost time on hostile pages.
_DECLARATION_BYTES = 4_096
_DETECTION_BYTES = 64 * 1024
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_IN_HEADER = re.compile(r"charset\s*=\s*[\"']?\s*([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE)
_IN_META = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([A-Za-z0-9_.:-]{1,40})", re.I)
_IN_XML = re.compile(rb"^\s*<\?xml[^>]{0,100}?encoding\s*=\s*[\"']([A-Za-z0-9_.:-]{1,40})")
# Browsers read these charsets as their supersets, and pages rely on that.
_BROWSERS_READ_AS = {
    "iso8859-1": "cp1252", "ascii": "cp1252", "latin-1": "cp1252", "iso8859-9": "cp1254",
    "iso8859-11": "cp874", "gb2312": "gb18030", "gbk": "gb18030", "shift_jis": "cp932",
    "euc_kr": "cp949",
}  # fmt: skip
_TEXT = {
    "utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp866", "koi8-r", "koi8-u",
    "mac-roman", "mac-cyrillic", "cp874", "gb18030", "big5", "big5hkscs", "euc_jp", "iso2022_jp",
    "cp932", "cp949", *(f"cp{n}" for n in range(1250, 1259)),
    *(f"iso8859-{n}" for n in (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16)),
}  # fmt: skip
"""The charsets that browsers know: some of Python's codecs are not charsets."""


def text_of(body: bytes, content_type: str | None) -> tuple[str, str]:
    """Returns the text and the name of its charset: from the header, the byte order mark, a
    declaration in the page, or by detection, in this order."""
    for bom, charset in _BOMS:
        if body.startswith(bom):
            body, marked = body[len(bom) :], charset
            break
    else:
        marked = None
    charset = (
        _known(_charset_in_header(content_type))
        or marked
        or _charset_in_markup(body)
        or _detected(body)
    )
    return body.decode(charset, errors="replace"), charset


def _charset_in_header(content_type: str | None) -> str | None:
    found = _IN_HEADER.search(content_type or "")
    return found[1] if found else None


def _charset_in_markup(body: bytes) -> str | None:
    start = body[:_DECLARATION_BYTES]
    found = _IN_META.search(start) or _IN_XML.search(start)
    charset = _known(found[1].decode("ascii")) if found else None
    # The declaration was readable as ASCII, so the page cannot be UTF-16.
    return "utf-8" if charset is not None and charset.startswith("utf-16") else charset


def _detected(body: bytes) -> str:
    sample = body[:_DETECTION_BYTES]
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample)  # may end within a character
    except UnicodeDecodeError:
        return _known(cchardet.detect(sample)["encoding"]) or "cp1252"
    return "utf-8"


def _known(name: str | None) -> str | None:
    """Returns the codec for a charset name as browsers read it; None: not a charset."""
    if not name:
        return None
    try:
        codec = codecs.lookup(name).name
    except (LookupError, ValueError):
        return None
    meant = _BROWSERS_READ_AS.get(codec, codec)
    return meant if meant in _TEXT else None
