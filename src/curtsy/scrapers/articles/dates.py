"""Finds the day on which an article was published, and the instants that its page states."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Any

from htmldate import find_date

from curtsy.scrapers.articles import json_ld, tags
from curtsy.scrapers.articles.class_words import DATE
from curtsy.scrapers.articles.outline import Outline

LONGEST, MOST_WRITTEN = 100, 30
LARGEST_SEARCHED = 1_000_000
"""Characters of a page that htmldate searches."""
FIRST_YEAR = 1990
_PUBLISHED = (
    "article:published_time", "og:article:published_time", "datepublished", "date.published",
    "article.published", "article:published", "published_time", "publication_date",
    "parsely-pub-date", "sailthru.date", "pubdate", "publishdate", "publish-date", "publish_date",
    "dc.date", "dc.date.issued", "dcterms.date", "dcterms.created", "dcterms.issued", "date",
    "citation_publication_date", "citation_date", "article_date_original", "datecreated",
    "originalpublicationdate", "og:published_time",
)  # fmt: skip
_YEAR = r"((?:19|20)\d\d)"
_ISO = re.compile(rf"(?<!\d){_YEAR}([-/.]?)(0[1-9]|1[0-2])\2(0[1-9]|[12]\d|3[01])(?!\d{{3}})")
_IN_URL = re.compile(rf"[/_-]{_YEAR}([/_-]?)(0[1-9]|1[0-2])\2(0[1-9]|[12]\d|3[01])(?!\d)")
_IN_FOLDERS = re.compile(rf"/{_YEAR}(/)(0?[1-9]|1[0-2])/(0?[1-9]|[12]\d|3[01])(?=/|$)")
_WORD = r"([^\W\d_]{3,12})"
_DAY_FIRST = re.compile(
    rf"(?<!\d)(\d{{1,2}})(?:st|nd|rd|th|er|[.º])?\s+(?:de\s+|of\s+)?{_WORD}\.?,?\s+(?:de\s+)?{_YEAR}"
)
_MONTH_FIRST = re.compile(rf"{_WORD}\.?\s+(\d{{1,2}})(?:st|nd|rd|th)?,?\s+{_YEAR}")
_WITH_UNITS = re.compile(rf"{_YEAR}\s?[年년]\s?(\d{{1,2}})\s?[月월]\s?(\d{{1,2}})\s?[日일]")
_DOTTED = re.compile(rf"(?<!\d)(\d{{1,2}})\.\s?(\d{{1,2}})\.\s?{_YEAR}")
_MONTHS = (
    ("jan", "ene", "gen", "янв", "січ", "oca", "sty"),
    ("feb", "fév", "fev", "фев", "лют", "lut"),
    ("mar", "mär", "mrt", "maa", "мар", "бер"),
    ("apr", "avr", "abr", "апр", "кві", "kwi", "nis"),
    ("may", "mai", "maj", "mei", "mag", "мая", "май", "тра"),
    ("jun", "juin", "giu", "июн", "чер", "haz", "cze"),
    ("jul", "juil", "lug", "июл", "лип", "tem", "lip"),
    ("aug", "aoû", "aou", "ago", "авг", "сер", "ağu", "sie"),
    ("sep", "set", "сен", "вер", "eyl", "wrz"),
    ("oct", "okt", "out", "ott", "окт", "жов", "eki", "paź"),
    ("nov", "ноя", "лис", "kas", "lis"),
    ("dec", "dez", "déc", "dic", "des", "дек", "гру", "ara", "gru"),
)
"""How the months' names begin in a dozen languages."""
_MODIFIED = ("article:modified_time", "og:updated_time", "datemodified", "last-modified",
             "article:modified", "dcterms.modified", "dc.date.modified", "revised",
             "lastmod")  # fmt: skip
_INSTANT = re.compile(
    r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d)?)(?:[.,]\d{1,9})?\s?"
    r"(Z|[+-]\d\d:?(?:\d\d)?)?(?![\d:])",
    re.I,
)


def stated_date(
    metas: Mapping[str, str],
    described: Iterable[Mapping[str, Any]],
    outline: Outline,
    url: str,
    today: date,
) -> str | None:
    """Returns the day that the URL, the head or an element for dates states; the URL has the day
    of the newsroom, the others often that of Greenwich."""
    latest = today + timedelta(days=2)
    if day := _numeric(_IN_URL.search(url) or _IN_FOLDERS.search(url), latest):
        return day
    stated = [json_ld.text_in(thing, "datePublished") for thing in described]
    for value in (metas.get(_PUBLISHED[0]), *stated, *map(metas.get, _PUBLISHED[1:])):
        if value and (day := _written(value[:LONGEST], latest)):
            return day
    for text in _texts(outline):
        if day := _written(text, latest):
            return day
    return None


def searched_date(page: str, url: str, today: date) -> str | None:
    """Lets htmldate search the page: slow, for pages that state no date."""
    if len(page) > LARGEST_SEARCHED:
        return None
    latest = (today + timedelta(days=2)).isoformat()
    try:
        found = find_date(page, original_date=True, url=url, max_date=latest)
    except (ValueError, TypeError, OverflowError, LookupError):
        return None
    # htmldate makes the first of January of a lone year. Footers have the year of the visit.
    return None if found == f"{today.year}-01-01" else found


def _texts(outline: Outline) -> Iterator[str]:
    """Returns what elements for dates say, in the order of the page."""
    found = 0
    for at in outline.outside_comments():
        if not (outline.tags[at] == tags.TIME or outline.meanings[at] & DATE):
            continue
        if outline.text_in(at) > LONGEST:
            continue
        attributes = outline.attributes[at]
        yield (attributes.get("datetime") or attributes.get("content") or "")[:LONGEST]
        yield " ".join(" ".join(outline.texts[at : outline.ends[at]]).split())[:LONGEST]
        found += 1
        if found == MOST_WRITTEN:
            return


def _written(text: str, latest: date) -> str | None:
    if day := _numeric(_ISO.search(text), latest):
        return day
    if found := _DAY_FIRST.search(text):
        return _day(found[3], _month(found[2]), found[1], latest)
    if found := _MONTH_FIRST.search(text):
        return _day(found[3], _month(found[1]), found[2], latest)
    if found := _WITH_UNITS.search(text):
        return _day(found[1], found[2], found[3], latest)
    if found := _DOTTED.search(text):
        return _day(found[3], found[2], found[1], latest)
    return None


def _month(name: str) -> int:
    """Returns the number of a month; 0: it is none."""
    name = name.casefold()
    return next((n for n, begins in enumerate(_MONTHS, 1) if name.startswith(begins)), 0)


def _numeric(found: re.Match[str] | None, latest: date) -> str | None:
    return None if found is None else _day(found[1], found[3], found[4], latest)


def _day(year: str, month: str | int, day: str, latest: date) -> str | None:
    try:
        found = date(int(year), int(month), int(day))
    except ValueError:
        return None
    return found.isoformat() if found.year >= FIRST_YEAR and found <= latest else None


def stated_instants(
    metas: Mapping[str, str], described: Sequence[Mapping[str, Any]], today: date
) -> tuple[str | None, str | None]:
    """Returns when the head says that the article was published, and last modified."""
    latest = today + timedelta(days=2)
    published = _first_instant(metas, described, "datePublished", _PUBLISHED, latest)
    return published, _first_instant(metas, described, "dateModified", _MODIFIED, latest)


def _first_instant(
    metas: Mapping[str, str], described: Sequence[Mapping[str, Any]],
    key: str, names: tuple[str, ...], latest: date,
) -> str | None:  # fmt: skip
    stated = (metas.get(names[0]), *(json_ld.text_in(thing, key) for thing in described),
              *map(metas.get, names[1:]))  # fmt: skip
    found = (_instant(value[:LONGEST], latest) for value in stated if value)
    return next((instant for instant in found if instant is not None), None)


def _instant(text: str, latest: date) -> str | None:
    """Returns the instant in the form of ISO 8601, with the offset that is stated."""
    found = _INSTANT.search(text)
    if found is None:
        return None
    offset = "+00:00" if (found[3] or "").upper() == "Z" else found[3] or ""
    try:
        instant = datetime.fromisoformat(f"{found[1]}T{found[2]}{offset}")
    except ValueError:
        return None
    return instant.isoformat() if instant.year >= FIRST_YEAR and instant.date() <= latest else None
