"""Finds the authors of an article."""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from curtsy.scrapers.articles import json_ld
from curtsy.scrapers.articles.class_words import BYLINE
from curtsy.scrapers.articles.outline import Outline

LONGEST = 120
MOST = 10
_NAMES = ("author", "article:author", "byl", "dc.creator", "dcterms.creator", "parsely-author",
          "sailthru.author", "dc.contributor", "twitter:creator:name",
          "cxenseparse:author", "og:author", "article:author_name")  # fmt: skip
REPEATED = frozenset({"author", "article:author", "citation_author", "dc.creator"})
"""Names that stand once for each author."""
_SURNAME_FIRST = "citation_author"
_PREFIX = re.compile(
    r"^(?:(?:written|posted|published|story|words|text|reported|photos?|analysis|opinion|review)"
    r"\s+)?(?:by|von|par|por|di|door|av|af|autor|author|auteur|autore|reporter|writer|tekst|text|textes?|texto|testo)"
    r"\b\s*:?\s*", re.I)  # fmt: skip
_AFTER = re.compile(
    r"\s*(?:[|•·–—/]|\s-\s|,?\s+(?:on|at|for|in)\s|@|\(|updated|published|posted|follow|"
    r"(?:,?\s(?:mon|tues|wednes|thurs|fri|satur|sun)day)?"
    r"(?:,?\s(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?)?\s*\d).*$",
    re.I | re.S,
)
_AND = r"(?:and|und|et|og|och|oraz|и|та|ve|ja)\s"
_JOINED = re.compile(rf"\s*(?:[;,&、，]|\s(?={_AND}))\s*(?:{_AND}\s*)?")
_SHORT_AND = re.compile(r"\s(?:e|i|en|y)\s")
"""Words for "and" that stand within names, too: such names are split only between whole names."""
_ROLE = re.compile(
    r"\b(?:(?:senior |chief |deputy |staff |political |science |foreign )*"
    r"(?:reporter|correspondent|editor|writer|journalist|columnist|contributor|photographer|producer|author|staff)"
    r"|(?:chef)?redakt(?:eur(?:in)?|ør|ör|or|orka)|korrespondent(?:in)?|journalist(?:in|e|a)?|"
    r"r[ée]dact(?:eur|rice|or|ora)|correspondante?|periodista|corresponsal|giornalista|inviat[oa]|"
    r"rep[óo]rter|verslaggever|toimittaja|dziennikar(?:z|ka)|корреспондент|журналист|редактор)\b",
    re.I,
)
_OF_THE_ONE_BEFORE = re.compile(
    rf"{_ROLE.pattern}$|^(?:PhD|Ph\.D\.?|MD|M\.D\.?|Jr\.?|Sr\.?|Esq\.?|[MR][DNS]|MBA|CPA|Dr)$", re.I
)
"""What stands behind a comma and is no name: a role with all its words, a degree."""
_ADDRESS = re.compile(r"https?:|www\.|^@|\S@\S")
_NO_NAME = re.compile(
    r"https?:|www\.|@|^\W*$|^(?:admin|staff|editor|user|unknown|none|null|guest)$|^\S+\.(?:com|org|net)$",
    re.I,
)


def authors_of(
    metas: Mapping[str, str],
    repeated: Mapping[str, Sequence[str]],
    described: Iterable[Mapping[str, Any]],
    outline: Outline,
    site: str | None,
) -> list[str]:
    """Returns the names of the persons; the site is nobody."""
    for thing in described:
        if names := _clean(_each_of(json_ld.persons_in(thing.get("author"))), site):
            return names
    for key in _NAMES:
        values = repeated.get(key) or ([metas[key]] if key in metas else [])
        if names := _clean((name for value in values for name in _split(value)), site):
            return names
    if names := _clean(map(_surname_last, repeated.get(_SURNAME_FIRST, ())), site):
        return names
    return _written(outline, site)


def _each_of(named: Sequence[str]) -> Iterable[str]:
    """A single name may be a list in one text."""
    return _split(named[0]) if len(named) == 1 else named


def _surname_last(name: str) -> str:
    surname, comma, first = name[:LONGEST].partition(",")
    return f"{first.strip()} {surname.strip()}" if comma and "," not in first else name


def _written(outline: Outline, site: str | None) -> list[str]:
    """Returns the names in the first element that names an author."""
    for at in outline.outside_comments():
        attributes = outline.attributes[at]
        is_author = attributes.get("rel") == "author" or attributes.get("itemprop") == "author"
        if not (is_author or outline.meanings[at] & BYLINE):
            continue
        if 0 < outline.text_in(at) <= LONGEST:
            text = " ".join(" ".join(outline.texts[at : outline.ends[at]]).split())
            if names := _clean(_split(text), site):
                return names
    return []


def _split(text: str) -> list[str]:
    if _ADDRESS.search(text[:LONGEST]):
        return []
    text = _AFTER.sub("", _PREFIX.sub("", text[:LONGEST].strip()))
    first, *others = _JOINED.split(text)
    parts = [first, *(part for part in others if not _OF_THE_ONE_BEFORE.search(part.strip()))]
    return [name for part in parts for name in _split_short(part)]


def _split_short(name: str) -> list[str]:
    parts = _SHORT_AND.split(name)
    are_whole = all(len(part.split()) > 1 for part in parts)
    return parts if are_whole else [name]


def _clean(names: Iterable[str], site: str | None) -> list[str]:
    found: dict[str, str] = {}
    for name in islice(names, 4 * MOST):
        name = _PREFIX.sub("", json_ld.one_line(name, LONGEST))
        name = _without_role(name).strip(" ,;:.|-")
        if (
            name
            and not (site and name.casefold() == site.casefold())
            and not _NO_NAME.search(name)
            and len(name.split()) <= 6
        ):
            found.setdefault(name.casefold(), name)
    return list(found.values())[:MOST]


def _without_role(name: str) -> str:
    """Returns the name without what the person does: `Ann Lee, Senior Reporter`, `Reporter Ann
    Lee`. Nothing is left of a role alone."""
    found = _ROLE.search(name)
    if found is None:
        return name
    before, after = name[: found.start()].strip(" ,-–(:"), name[found.end() :].strip(" ,-–):")
    return before if len(before.split()) > 1 else (after if len(after.split()) > 1 else "")
