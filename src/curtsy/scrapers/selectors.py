"""Checks CSS selectors more strictly than the parser, which accepts likely mistakes."""

import re

from selectolax.lexbor import LexborHTMLParser, SelectolaxError

LONGEST_SELECTOR = 500

_TOKENS = re.compile(
    r"""(?P<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*') | (?P<comment>/\*.*?\*/) | (?P<escape>\\.)
      | (?P<never>:(?:hover|active|focus|current)(?![a-z-])) | (?P<other>.)""",
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f\ud800-\udfff]")
_CLOSES = {")": "(", "]": "["}


def problem_of(selector: str) -> str | None:
    """Returns why the selector cannot be used, to follow its name in a sentence; None: it can.

    The parser itself accepts truncated selectors (`[href`, `:not(p`, `a[b='c`), ignores
    namespaces, and knows states that no stored page is in. All of these would select something
    other than intended, mostly nothing.
    """
    if not selector.strip():
        return "is empty"
    if len(selector) > LONGEST_SELECTOR:
        return f"has {len(selector)} characters; at most {LONGEST_SELECTOR} are allowed"
    if _CONTROL.search(selector):
        return "contains a character that no selector can have"
    if (problem := _misread(selector)) is not None:
        return problem
    try:
        LexborHTMLParser("").css(selector)
    except SelectolaxError:
        return f"is not a valid CSS selector: {selector[:100]!r}"
    return None


def _misread(selector: str) -> str | None:
    """Returns a mistake that the parser would accept."""
    open_ones: list[str] = []
    for token in _TOKENS.finditer(selector):
        text = token[0]
        if token["never"]:
            return f"uses {text}, a state that no stored page is in"
        if token["other"] is None:
            continue
        if text in "\"'\\" or selector.startswith("/*", token.start()):
            return f"ends in the middle: {text!r} is never closed"
        if text in "([":
            open_ones.append(text)
        elif text in ")]" and (not open_ones or open_ones.pop() != _CLOSES[text]):
            return f"has a closing {text!r} without an opening one"
        elif text == "|" and "[" not in open_ones:
            return "names a namespace, but pages have none"
    return f"ends in the middle: {open_ones[-1]!r} is never closed" if open_ones else None
