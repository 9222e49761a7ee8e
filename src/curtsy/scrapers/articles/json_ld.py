"""Reads the metadata of an article from JSON-LD."""

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple, TypeGuard

import orjson
from selectolax.lexbor import LexborHTMLParser

MOST_SCRIPTS, LONGEST_SCRIPT, MOST_OBJECTS = 20, 500_000, 500
MOST_STEPS, MOST_NAMES = 20, 20
_ARTICLES = ("Article", "Posting", "Report", "Recipe", "Review", "WebPage", "CreativeWork", "Book")
_TYPE = 'script[type="application/ld+json"]'


class Data(NamedTuple):
    articles: tuple[Mapping[str, Any], ...]
    """The objects that describe an article, articles in the narrow sense first."""
    trails: tuple[Mapping[str, Any], ...]
    """Breadcrumb trails."""


def data_in(tree: LexborHTMLParser) -> Data:
    articles: list[tuple[int, Mapping[str, Any]]] = []
    trails: list[Mapping[str, Any]] = []
    for script in islice(tree.css(_TYPE), MOST_SCRIPTS):
        text = script.text()
        if len(text) > LONGEST_SCRIPT:
            continue
        try:
            value = orjson.loads(_mended(text))
        except orjson.JSONDecodeError:
            continue
        for thing in islice(_objects(value), MOST_OBJECTS):
            kind = thing.get("@type")
            rank = _rank(kind)
            if rank < len(_ARTICLES):
                articles.append((rank, thing))
                if _is_trail(trail := thing.get("breadcrumb")):
                    trails.append(trail)
            elif _is_trail(thing):
                trails.append(thing)
    ranked = sorted(articles, key=lambda pair: pair[0])
    return Data(tuple(thing for _, thing in ranked), tuple(trails))


def _is_trail(thing: Any) -> TypeGuard[Mapping[str, Any]]:
    return isinstance(thing, dict) and thing.get("@type") == "BreadcrumbList"


def steps_in(trail: Mapping[str, Any]) -> list[str]:
    """Returns the names of a breadcrumb trail in its order."""
    listed = trail.get("itemListElement")
    steps = [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
    ordered = sorted(steps[:MOST_STEPS], key=_position)
    return [name for each in ordered for name in _names_of_step(each)[:1]]


def _position(step: Mapping[str, Any]) -> float:
    position = step.get("position")
    if isinstance(position, str) and position.isdecimal() and len(position) < 4:
        return int(position)
    return position if isinstance(position, int | float) else MOST_STEPS


def _names_of_step(step: Mapping[str, Any]) -> list[str]:
    return names_in(step) or names_in(
        step.get("item") if isinstance(step.get("item"), dict) else None
    )


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


def names_in(value: Any, *, most: int = MOST_NAMES) -> list[str]:
    """Returns the names of persons or things, given as text, object or list."""
    names = []
    for each in (value if isinstance(value, list) else [value])[:most]:
        name = each.get("name") if isinstance(each, dict) else each
        if isinstance(name, list) and name:
            name = name[0]
        if isinstance(name, str) and name.strip():
            names.append(name.strip())
    return names


def one_line(text: str, longest: int) -> str:
    """Returns the text in one line, without characters that steer a terminal or the direction of
    writing, cut off at a length."""
    return " ".join(_STEERING.sub(" ", text[: 2 * longest]).split())[:longest].rstrip()


_STEERING = re.compile(
    "[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufeff]+"
)


def is_not_free(thing: Mapping[str, Any]) -> bool:
    """Whether the object says of its article, or of a part of it, that it must be paid for."""
    parts = thing.get("hasPart")
    each = [thing, *(parts[:MOST_NAMES] if isinstance(parts, list) else [parts])]
    return any(isinstance(one, dict) and _is_false(one.get("isAccessibleForFree")) for one in each)


def _is_false(value: Any) -> bool:
    if isinstance(value, str):
        return value.strip().lower().rpartition("/")[2] == "false"
    return value is False
