"""Recognises pages that nest so deep that parsing them by the rules of HTML takes long.

For many start tags the parser looks through all open elements, so its time is elements times
depth. Articles of deep pages are left to the slow tier, whose parser cuts them off; links and
listings are read from the part of the page in front of the depth.
"""

import re
from collections import Counter

FEW_TAGS = 4_000
"""Pages with fewer are not looked at: nothing that they nest takes long."""
DEEPEST = 400
_TAG = re.compile(
    r"<(?:!--(?:-?>|.*?-->|.*)"
    r"|(?P<end>/?)(?P<name>[a-zA-Z][^\s/>]*+)"
    r"(?:[\s/]++|=?+[^\s/>=]++(?:\s*+=\s*+(?:\"[^\"]*+\"?+|'[^']*+'?+|[^\s>\"'][^\s>]*+|(?=>)))?+)*+)",
    re.DOTALL,
)  # fmt: skip
_RAW = {
    name: re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE)
    for name in ("script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes")
}
"""Elements whose content is text, whatever it looks like."""
_UNCOUNTED = frozenset({
    "area", "base", "body", "br", "col", "colgroup", "dd", "dt", "embed", "head", "hr", "html",
    "img", "input", "li", "link", "meta", "optgroup", "option", "p", "param", "source", "tbody",
    "td", "tfoot", "th", "thead", "tr", "track", "wbr",
})  # fmt: skip
"""Elements without content, and those that the next one of their kind closes."""


def is_too_deep(page: str) -> bool:
    return _depth_begins(page) is not None


def shallow_part(page: str) -> str:
    """Returns the page, cut off where it gets too deep."""
    return page[: _depth_begins(page)]


def _depth_begins(page: str) -> int | None:
    """Returns where the page gets too deep; None: nowhere."""
    if page.count("<") < FEW_TAGS:
        return None
    unclosed: Counter[str] = Counter()
    depth = at = 0
    while (found := _TAG.search(page, at)) is not None:
        at = found.end()
        name = (found["name"] or "")[:30].lower()
        if not name or name in _UNCOUNTED:
            continue
        if found["end"]:
            if unclosed[name]:
                unclosed[name] -= 1
                depth -= 1
        elif (raw := _RAW.get(name)) is not None:
            closing = raw.search(page, at)
            at = closing.end() if closing is not None else len(page)
        else:
            unclosed[name] += 1
            depth += 1
            if depth > DEEPEST:
                return found.start()
    return None
