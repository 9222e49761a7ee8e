"""Reads the metadata of an article from JSON-LD."""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

import orjson
from selectolax.lexbor import LexborHTMLParser

MOST_SCRIPTS, LONGEST_SCRIPT, MOST_OBJECTS = 20, 500_000, 500
_ARTICLES = ("Article", "Posting", "Report", "Recipe", "Review", "WebPage", "CreativeWork", "Book")
_TYPE = 'script[type="application/ld+json"]'


def articles_in(tree: LexborHTMLParser) -> list[Mapping[str, Any]]:
    """Returns the objects that describe an article, articles in the narrow sense first."""
    found: list[tuple[int, Mapping[str, Any]]] = []
    for script in islice(tree.css(_TYPE), MOST_SCRIPTS):
        text = script.text()
        if len(text) > LONGEST_SCRIPT:
            continue
        try:
            value = orjson.loads(_mended(text))
        except orjson.JSONDecodeError:
            continue
        for thing in islice(_objects(value), MOST_OBJECTS):
            rank = _rank(thing.get("@type"))
            if rank < len(_ARTICLES):
                found.append((rank, thing))
    return [thing for _, thing in sorted(found, key=lambda pair: pair[0])]


def _mended(text: str) -> str:
    """Makes JSON of what sites take for it: line breaks in strings, comments around."""
    text = text.strip().removeprefix("<!--").removesuffix("-->").strip().rstrip(";")
    return text.translate(_CONTROLS)


_CONTROLS = dict.fromkeys(range(32), " ")


def _objects(value: Any) -> Iterator[Mapping[str, Any]]:
    """Lists and graphs are looked into, other members are not."""
    waiting = [value]
    while waiting:
        thing = waiting.pop()
        if isinstance(thing, list):
            waiting.extend(reversed(thing[:MOST_OBJECTS]))
        elif isinstance(thing, dict):
            yield thing
            waiting.extend(thing[key] for key in ("@graph", "mainEntity") if key in thing)


def _rank(kind: Any) -> int:
    kinds = kind if isinstance(kind, list) else [kind]
    for rank, word in enumerate(_ARTICLES):
        if any(isinstance(kind, str) and word in kind for kind in kinds[:10]):
            return rank
    return len(_ARTICLES)


def text_in(thing: Mapping[str, Any], key: str) -> str | None:
    value = thing.get(key)
    return value.strip() or None if isinstance(value, str) else None


def persons_in(value: Any) -> list[str]:
    """Returns the names of authors that are no organisations."""
    each = (value if isinstance(value, list) else [value])[:20]
    return names_in([a for a in each if not (isinstance(a, dict) and _is_organisation(a))])


def _is_organisation(author: Mapping[str, Any]) -> bool:
    return "Organization" in str(author.get("@type"))[:200]


def names_in(value: Any) -> list[str]:
    """Returns the names of persons or organisations, given as text, object or list."""
    names = []
    for each in (value if isinstance(value, list) else [value])[:20]:
        name = each.get("name") if isinstance(each, dict) else each
        if isinstance(name, list) and name:
            name = name[0]
        if isinstance(name, str) and name.strip():
            names.append(name.strip())
    return names
