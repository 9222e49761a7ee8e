"""Makes plain text of what feeds put into titles and summaries: HTML, escaped once or twice."""

import re
from html import unescape

LONGEST_TITLE = 500
LONGEST_SUMMARY = 2_000
_LOOKED_AT = 40_000
_MARKUP = re.compile(
    r"<!--.*?(?:-->|\Z)|<(?P<raw>script|style)\b.*?(?:</(?P=raw)\s*>|\Z)|"
    r"<(?P<block>/?(?:p|div|br|li|h[1-6]|tr|td))\b[^<>]*>|</?[a-z][^<>]*>",
    re.IGNORECASE | re.DOTALL,
)
_CDATA = re.compile(r"<!\[CDATA\[|\]\]>")


def plain(text: str | None, longest: int = LONGEST_TITLE) -> str | None:
    """Returns the text without markup, on one line and cut to the limit; None: there is none."""
    if not text:
        return None
    text = text[:_LOOKED_AT]
    if "<" in text:
        text = _MARKUP.sub(lambda found: " " if found["block"] else "", _CDATA.sub("", text))
    if "&" in text:
        text = unescape(text)
    text = " ".join(text.replace("\0", "").split())
    return (text if len(text) <= longest else f"{text[: longest - 1].rstrip()}…") or None
