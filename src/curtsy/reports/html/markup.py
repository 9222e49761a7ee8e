"""Builds HTML and SVG. Text is escaped where it joins the markup, so none can be forgotten.

Names of sites, sources and schedules come from elsewhere: `named` also isolates their direction of
writing, so that a name in Arabic, or one that contains controls, does not turn its neighbours.
"""

import re
from collections.abc import Iterable
from html import escape

LONGEST_NAME = 200
VOID = frozenset({"br", "col", "meta"})
_CONTROLS = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)
"""Characters that HTML forbids, that UTF-8 cannot encode, or that override directions."""


class Html(str):
    """Text that is markup already. Any other text is escaped."""

    __slots__ = ()


NOTHING = Html("")


def clean(text: str) -> str:
    return _CONTROLS.sub("\ufffd", text)


def html(part: str) -> Html:
    return part if isinstance(part, Html) else Html(escape(clean(part)))


def joined(parts: Iterable[str], between: str = "") -> Html:
    return Html(html(between).join(map(html, parts)))


def element(name: str, /, *children: str, **attributes: str | float | None) -> Html:
    """`class_` and `text_anchor` stand for `class` and `text-anchor`; None leaves one out."""
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_value(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in VOID:
        return Html(f"<{name}{given}>")
    return Html(f"<{name}{given}>{joined(children)}</{name}>")


def named(text: str) -> Html:
    """A name from elsewhere: cut if it is very long, and broken after dots where it must break."""
    whole = len(text) <= LONGEST_NAME
    pieces = (text if whole else f"{text[: LONGEST_NAME - 1]}…").split(".")
    return element("bdi", joined(pieces, Html(".<wbr>")))


def with_code(sentence: str) -> Html:
    """A sentence; what stands between backticks is a command."""
    parts = sentence.split("`")
    return joined(element("code", part) if n % 2 else part for n, part in enumerate(parts))


def _value(value: str | float) -> str:
    if isinstance(value, str):
        return html(value)
    return f"{value:.2f}".rstrip("0").rstrip(".")
