"""Finds what the head of a page says of its article, and the title, site and description."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from selectolax.lexbor import LexborHTMLParser

from curtsy.scrapers.articles import json_ld, tags
from curtsy.scrapers.articles.bylines import REPEATED
from curtsy.scrapers.articles.class_words import HEADLINE
from curtsy.scrapers.articles.language import declared_by
from curtsy.scrapers.articles.outline import Outline

MOST_METAS, LONGEST_META = 500, 2_000
LONGEST_TITLE = 500
_TITLES = ("og:title", "twitter:title", "dc.title", "dcterms.title", "citation_title",
           "parsely-title", "sailthru.title", "headline")  # fmt: skip
_DESCRIPTIONS = ("og:description", "description", "twitter:description", "dc.description",
                 "dcterms.description", "sailthru.description")  # fmt: skip
_SITES = ("og:site_name", "application-name", "dc.publisher", "citation_journal_title",
          "apple-mobile-web-app-title", "publisher")  # fmt: skip
_EACH = REPEATED | {"article:tag"}
_SEPARATOR = re.compile(r"\s+[|–—·•«»:›]\s+|\s+--?\s+|\s*\|\s*")
_HOST = re.compile(r"(?:[\w-]{2,40}\.){1,3}[a-z]{2,12}")


@dataclass(frozen=True, slots=True)
class Head:
    """What the head of the page states, still to be chosen from."""

    metas: Mapping[str, str]
    """The first of each name, in lower case."""
    repeated: Mapping[str, list[str]]
    """All of those names that stand once for each author or tag."""
    described: tuple[Mapping[str, Any], ...]
    trails: tuple[Mapping[str, Any], ...]
    """Breadcrumb trails."""
    title: str
    canonical: str | None
    language: str | None


def head_of(tree: LexborHTMLParser) -> Head:
    metas, repeated = _metas(tree)
    data = json_ld.data_in(tree)
    title = tree.css_first("title")
    link = tree.css_first("link[rel=canonical]")
    return Head(
        metas, repeated, data.articles, data.trails,
        " ".join(title.text()[:LONGEST_TITLE].split()) if title is not None else "",
        link.attributes.get("href") if link is not None else None,
        declared_by(tree, metas, data.articles),
    )  # fmt: skip


def _metas(tree: LexborHTMLParser) -> tuple[dict[str, str], dict[str, list[str]]]:
    metas: dict[str, str] = {}
    repeated: dict[str, list[str]] = {}
    for node in islice(tree.css("meta[content]"), MOST_METAS):
        attributes = node.attributes
        content = (attributes.get("content") or "")[:LONGEST_META].strip()
        name = (attributes.get("property") or attributes.get("name") or attributes.get("itemprop")
                or attributes.get("http-equiv"))  # fmt: skip
        if name and content:
            name = name[:60].lower()
            metas.setdefault(name, content)
            if name in _EACH:
                repeated.setdefault(name, []).append(content)
    return metas, repeated


def title_of(head: Head, outline: Outline) -> str | None:
    """Returns the title without the name of the site."""
    first = _first(head.metas, _TITLES)
    if first is not None:
        return _without_site(first, head)
    for thing in head.described:
        if (headline := json_ld.text_in(thing, "headline")) is not None:
            return " ".join(headline[:LONGEST_TITLE].split())
    return _heading(outline) or _longest_part(head.title) or None


def _heading(outline: Outline) -> str | None:
    """Returns the only heading of the first level, else the first element that is a headline by
    its name."""
    first = [
        at for at, number in enumerate(outline.tags) if number == tags.H1 and outline.text_in(at)
    ]
    if len(first) != 1:
        first = [
            at for at, m in enumerate(outline.meanings) if m & HEADLINE and outline.text_in(at)
        ][:1] or first[:1]
    for at in first:
        if outline.text_in(at) <= LONGEST_TITLE:
            return " ".join(" ".join(outline.texts[at : outline.ends[at]]).split()) or None
    return None


def _without_site(title: str, head: Head) -> str:
    title = " ".join(title[:LONGEST_TITLE].split())
    parts = _SEPARATOR.split(title)
    if len(parts) > 1 and _is_site(parts[-1].casefold(), (site_of(head) or "").casefold()):
        return title[: title.rindex(parts[-1])].rstrip(" |–—·•«»:›-")
    return title


def _is_site(part: str, site: str) -> bool:
    """Whether a part of a title is the site's name, a section of the site, or a host's name."""
    is_section = bool(site) and part.startswith(f"{site} ") and len(part.split()) <= 4
    return part == site or is_section or _HOST.fullmatch(part) is not None


def _longest_part(title: str) -> str:
    return max(_SEPARATOR.split(title), key=len)


def site_of(head: Head) -> str | None:
    found = _first(head.metas, _SITES)
    if found is not None:
        return found.removeprefix("@")
    for thing in head.described:
        if names := json_ld.names_in(thing.get("publisher")):
            return names[0][:200]
    return None


def description_of(head: Head) -> str | None:
    found = _first(head.metas, _DESCRIPTIONS)
    return " ".join(found.split()) if found else None


def canonical_of(head: Head) -> str | None:
    """Returns the address that the page calls its own, as written."""
    return head.canonical or head.metas.get("og:url")


def _first(metas: Mapping[str, str], names: tuple[str, ...]) -> str | None:
    return next((metas[name] for name in names if name in metas), None)
