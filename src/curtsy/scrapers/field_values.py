"""Turns elements of a page into field values: text, number, URL, or flag."""

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

from selectolax.lexbor import LexborNode

from curtsy.scrapers.links import absolute
from curtsy.scrapers.recipe import Field, compile_pattern

LONGEST_VALUE = 20_000
MOST_VALUES = 200
"""Of one field with `many`."""
MOST_NODES = 20_000
"""Read for one text."""
MOST_DIGITS = 15
"""More digits are an identifier, not a number to calculate with."""

_INVISIBLE = frozenset({"script", "style", "template", "noscript", "-comment"})
_INLINE = frozenset({
    "-text", "a", "abbr", "b", "bdi", "bdo", "cite", "code", "data", "del", "dfn", "em", "font",
    "i", "ins", "kbd", "mark", "q", "s", "samp", "small", "span", "strong", "sub", "sup", "time",
    "u", "var", "wbr",
})  # fmt: skip
_NUMBER = re.compile(
    r"""(?P<minus>(?<!\w)[-\u2212])?
    (?: (?P<grouped>[1-9][0-9]{0,2}(?P<mark>[,.'\u2019 \u00a0\u2009\u202f])[0-9]{3}
                    (?:(?P=mark)[0-9]{3})*)
        (?:(?!(?P=mark))[.,](?P<rest>[0-9]+))? (?![0-9])
      | (?P<whole>[0-9]+) (?:[.,](?P<part>[0-9]+))? )""",
    re.VERBOSE,
)


def text_of_node(node: LexborNode) -> str:
    """Returns the visible text: a space between blocks, single spaces, no scripts."""
    parts: list[str] = []
    length, last = 0, node.mem_id
    block_of = {node.mem_id: node.mem_id}
    for inner in islice(node.traverse(include_text=True), 1, MOST_NODES):
        above = block_of.get(inner.parent.mem_id) if inner.parent is not None else None
        if above is None or inner.tag in _INVISIBLE:
            continue
        block_of[inner.mem_id] = above if inner.tag in _INLINE else inner.mem_id
        if inner.tag == "-text":
            text = inner.text_content or ""
            parts.append(text if above == last else f" {text}")
            length, last = length + len(text), above
            if length > LONGEST_VALUE:
                break
        elif inner.tag == "br":
            parts.append(" ")
    return " ".join("".join(parts).split())[:LONGEST_VALUE].rstrip()


def number_in(text: str) -> int | float | None:
    """Returns the first number, in any of the usual notations: 1,234.50 and 1.234,50 and 1 234,5.

    A comma before exactly three digits separates thousands; a single point never does.
    """
    found = _NUMBER.search(text)
    if found is None:
        return None
    if found["grouped"] is None:
        whole, part = found["whole"], found["part"]
    else:
        whole, part = "".join(filter(str.isdigit, found["grouped"])), found["rest"]
        if found["mark"] == "." and found["grouped"].count(".") == 1 and part is None:
            whole, _, part = found["grouped"].partition(".")
    if len(whole) + len(part or "") > MOST_DIGITS:
        return None
    sign = "-" if found["minus"] else ""
    return int(f"{sign}{whole}") if part is None else float(f"{sign}{whole}.{part}")


class Values:
    """Reads the values of one field from the records of one page. Raises `BadPattern`."""

    def __init__(self, field: Field, base: str) -> None:
        self._field, self._base = field, base
        self._pattern = compile_pattern(field.pattern) if field.pattern is not None else None
        converters: dict[str, Callable[[str], Any]] = {"number": number_in, "url": self._url}
        self._convert = converters.get(field.kind, str)

    def of(self, record: LexborNode) -> Any:
        """Returns the record's value; None, or an empty list with `many`, when it has none."""
        found = self._all(record)
        if self._field.kind == "flag":
            return next(found, None) is not None
        return list(islice(found, MOST_VALUES)) if self._field.many else next(found, None)

    def _all(self, record: LexborNode) -> Iterator[Any]:
        for node in self._nodes(record):
            text = self._text(node)
            if text is not None and (value := self._convert(text)) is not None:
                yield value

    def _nodes(self, record: LexborNode) -> Iterator[LexborNode]:
        if self._field.css is None:
            return iter((record,))
        return each_once(record, self._field.css)

    def _text(self, node: LexborNode) -> str | None:
        """Returns the element's text after `pattern`; None: no text. Only a flag accepts an empty
        text."""
        text = self._raw(node)
        if text is None or (not text and self._field.kind != "flag"):
            return None
        if self._pattern is None:
            return text
        found = self._pattern.search(text)
        return (found[1] if found.re.groups else found[0]) or None if found is not None else None

    def _raw(self, node: LexborNode) -> str | None:
        name, is_url = self._field.attribute, self._field.kind == "url"
        if name is None and not is_url:
            return text_of_node(node)
        attributes = node.attributes
        if name is None:
            name = "href" if "href" in attributes else "src"
        if name not in attributes:
            return None
        return (attributes[name] or "").strip()[:LONGEST_VALUE]

    def _url(self, text: str) -> str | None:
        return absolute(self._base, text)


def each_once(node: LexborNode, selector: str) -> Iterator[LexborNode]:
    """Yields each matching descendant once: the parser also returns the node itself, and some
    elements twice."""
    return distinct_nodes(node.css(selector), but=node.mem_id)


def distinct_nodes(found: Iterable[LexborNode], *, but: int = 0) -> Iterator[LexborNode]:
    met = {but}
    for node in found:
        if node.mem_id not in met:
            met.add(node.mem_id)
            yield node
