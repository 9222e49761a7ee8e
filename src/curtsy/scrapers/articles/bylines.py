"""Finds the authors of an article."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from curtsy.scrapers.articles import json_ld
from curtsy.scrapers.articles.class_words import BYLINE
from curtsy.scrapers.articles.outline import Outline

LONGEST = 120
_NAMES = ("author", "article:author", "byl", "dc.creator", "dcterms.creator", "parsely-author",
          "sailthru.author", "dc.contributor", "citation_author", "twitter:creator:name",
          "cxenseparse:author", "og:author", "article:author_name")  # fmt: skip
_PREFIX = re.compile(
    r"^(?:(?:written|posted|published|story|words|text|reported)\s+)?(?:by|von|par|por|di|door|av|af|"
    r"autor|author|auteur|reporter|writer)\b\s*:?\s*", re.I)  # fmt: skip
_AFTER = re.compile(
    r"\s*(?:[|•·–—/]|\s-\s|,?\s+(?:on|at|for|in)\s|\d|@|\(|updated|published|posted|follow).*$",
    re.I | re.S,
)
_AND = r"(?:and|und|et|y|og|och)\s"
_JOINED = re.compile(rf"\s*(?:[;,&]|\s(?={_AND}))\s*(?:{_AND}\s*)?")
_ADDRESS = re.compile(r"https?:|www\.|^@|\S@\S")
_NO_NAME = re.compile(
    r"https?:|www\.|@|^\W*$|^(?:admin|staff|editor|user|unknown|none|null|guest)$", re.I
)


def byline_of(
    metas: Mapping[str, str],
    described: Iterable[Mapping[str, Any]],
    outline: Outline,
    site: str | None,
) -> str | None:
    """Returns the names of the persons, joined by semicolons; the site is nobody."""
    for thing in described:
        if names := _clean(json_ld.persons_in(thing.get("author")), site):
            return "; ".join(names)
    for key in _NAMES:
        if (value := metas.get(key)) and (names := _clean(_split(value), site)):
            return "; ".join(names)
    return _written(outline, site)


def _written(outline: Outline, site: str | None) -> str | None:
    """Returns the text of the first element that names an author."""
    for at in outline.outside_comments():
        attributes = outline.attributes[at]
        is_author = attributes.get("rel") == "author" or attributes.get("itemprop") == "author"
        if not (is_author or outline.meanings[at] & BYLINE):
            continue
        if 0 < outline.text_in(at) <= LONGEST:
            text = " ".join(" ".join(outline.texts[at : outline.ends[at]]).split())
            if names := _clean(_split(text), site):
                return "; ".join(names)
    return None


def _split(text: str) -> list[str]:
    if _ADDRESS.search(text):
        return []
    text = _AFTER.sub("", _PREFIX.sub("", text[:LONGEST].strip()))
    return _JOINED.split(text)


def _clean(names: Iterable[str], site: str | None) -> list[str]:
    found: dict[str, None] = {}
    for name in names:
        name = _PREFIX.sub("", " ".join(name.split()))[:LONGEST].strip(" ,;:.|-")
        if (
            name
            and not (site and name.casefold() == site.casefold())
            and not _NO_NAME.search(name)
            and len(name.split()) <= 6
        ):
            found[name] = None
    return list(found)[:10]
