"""Recognises pages that nest so deep that parsing them by the rules of HTML takes long.

For many start tags the parser looks through all open elements, so its time is elements times
depth. The slow tier's parser cuts deep pages off instead.
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
    if page.count("<") < FEW_TAGS:
        return False
    unclosed: Counter[str] = Counter()
    depth = at = 0
    while depth <= DEEPEST:
        found = _TAG.search(page, at)
        if found is None:
            return False
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
    return True
