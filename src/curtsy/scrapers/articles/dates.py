"""Finds the day on which an article was published."""

import re
from collections.abc import Iterable, Mapping
from datetime import date, timedelta
from html import escape
from typing import Any

from htmldate import find_date

from curtsy.scrapers.articles import json_ld, tags
from curtsy.scrapers.articles.class_words import COMMENTS, DATE
from curtsy.scrapers.articles.outline import Outline

_NAMES = (
    "article:published_time", "og:article:published_time", "datepublished", "date.published",
    "article.published", "article:published", "published_time", "publication_date",
    "parsely-pub-date", "sailthru.date", "pubdate", "publishdate", "publish-date", "publish_date",
    "dc.date", "dc.date.issued", "dcterms.date", "dcterms.created", "dcterms.issued", "date",
    "citation_publication_date", "citation_date", "cxenseparse:recs:publishtime",
    "article_date_original", "originalpublicationdate", "datecreated", "og:published_time",
    "article:modified_time", "og:updated_time",
)  # fmt: skip
_DAY = re.compile(r"(?<!\d)((?:19|20)\d\d)[-/.]?(0[1-9]|1[0-2])[-/.]?(0[1-9]|[12]\d|3[01])(?!\d{3})")
_IN_URL = re.compile(r"/((?:19|20)\d\d)[/-]?(0?[1-9]|1[0-2])[/-]?(0?[1-9]|[12]\d|3[01])(?=[/_-]|\D)")
_MOST_WRITTEN, LONGEST = 12, 100


def date_of(
    metas: Mapping[str, str], described: Iterable[Mapping[str, Any]], outline: Outline, url: str, today: date
) -> str | None:
    latest = today + timedelta(days=2)
    stated = [json_ld.text_in(thing, "datePublished") for thing in described]
    for value in (*(metas.get(name) for name in _NAMES[:1]), *stated, *(metas.get(name) for name in _NAMES[1:-2])):
        if value and (day := _day(_DAY.search(value[:LONGEST]), latest)):
            return day
    written = []
    for at in _dated(outline):
        attributes = outline.attributes[at]
        value = attributes.get("datetime") or attributes.get("content") or ""
        if day := _day(_DAY.search(value[:LONGEST]), latest):
            return day
        written.append(" ".join(" ".join(outline.texts[at : outline.ends[at]]).split()))
        if len(written) == _MOST_WRITTEN:
            break
    if day := _day(_IN_URL.search(url), latest):
        return day
    return _searched(written, metas, url)


def _dated(outline: Outline) -> Iterable[int]:
    for at, number in enumerate(outline.tags):
        if number == tags.TIME or outline.meanings[at] & DATE:
            if not outline.meanings[at] & COMMENTS and outline.text_in(at) <= LONGEST:
                yield at


def _searched(written: list[str], metas: Mapping[str, str], url: str) -> str | None:
    """Lets htmldate read what is written in words, in a document of only that."""
    lines = "".join(f"<time>{escape(text)}</time>" for text in written if any(map(str.isdigit, text)))
    others = "".join(
        f'<meta property="{escape(key)}" content="{escape(metas[key])}">' for key in _NAMES if key in metas
    )
    if not lines and not others:
        return None
    document = f"<html><head>{others}</head><body>{lines}</body></html>"
    try:
        return find_date(document, extensive_search=True, original_date=True, url=url)
    except (ValueError, TypeError, OverflowError):
        return None


def _day(found: re.Match[str] | None, latest: date) -> str | None:
    if found is None:
        return None
    try:
        day = date(int(found[1]), int(found[2]), int(found[3]))
    except ValueError:
        return None
    return day.isoformat() if day.year >= 1990 and day <= latest else None
