"""Finds the tags and the section of an article."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from curtsy.scrapers.articles import json_ld, tags
from curtsy.scrapers.articles.outline import Outline

MOST_TAGS, LONGEST_TAG, LONGEST_SECTION = 30, 100, 100
MOST_LOOKED_AT = 200
_KEYWORDS = ("parsely-tags", "sailthru.tags", "news_keywords", "keywords")
_SECTIONS = ("article:section", "parsely-section", "og:section", "section", "cxenseparse:section",
             "dc.subject.section")  # fmt: skip
_HOME = frozenset({
    "home", "homepage", "start", "startseite", "accueil", "inicio", "início", "home page",
    "forside", "hem", "etusivu", "strona główna", "главная", "головна", "anasayfa", "ana sayfa",
    "ホーム", "首页", "홈", "trang chủ", "beranda", "domů", "kezdőlap", "acasă", "αρχική",
})  # fmt: skip
_OF_THE_SYSTEM = frozenset("@/_&")
"""First characters of what sites write among the tags for their own programs."""
_SEPARATOR = re.compile(r"[,;|、，]")


def tags_of(
    tagged: Sequence[str],
    metas: Mapping[str, str],
    described: Iterable[Mapping[str, Any]],
    outline: Outline,
) -> list[str]:
    """Returns the tags of the first place that states any. `tagged` are those of `article:tag`."""
    for words in _stated(tagged, metas, described, outline):
        if found := _each_once(words):
            return found
    return []


def _stated(
    tagged: Sequence[str],
    metas: Mapping[str, str],
    described: Iterable[Mapping[str, Any]],
    outline: Outline,
) -> Iterator[Iterable[str]]:
    yield tagged if len(tagged) > 1 else _split(tagged)
    for thing in described:
        yield _split(json_ld.names_in(thing.get("keywords"), most=MOST_LOOKED_AT))
    for name in _KEYWORDS:
        if name in metas:
            yield _split([metas[name]])
    yield _linked(outline)


def _split(listed: Sequence[str]) -> Sequence[str]:
    """A single text is a list of them, with commas between."""
    return _SEPARATOR.split(listed[0][:10_000])[:MOST_LOOKED_AT] if len(listed) == 1 else listed


def _linked(outline: Outline) -> Iterator[str]:
    """Returns the texts of links to tags."""
    numbers, link = outline.tags, tags.A
    links = (at for at, number in enumerate(numbers) if number == link)
    marked = (at for at in links if "tag" in (outline.attributes[at].get("rel") or "").split())
    for at in islice(marked, MOST_LOOKED_AT):
        if outline.text_in(at) <= LONGEST_TAG:
            yield " ".join(outline.texts[at : outline.ends[at]])


def _each_once(words: Iterable[str]) -> list[str]:
    found: dict[str, str] = {}
    for word in islice(words, MOST_LOOKED_AT):
        word = json_ld.one_line(word, LONGEST_TAG).strip(" #\"'")
        if word[:1] not in _OF_THE_SYSTEM and any(map(str.isalnum, word)):
            found.setdefault(word.casefold(), word)
    return list(found.values())[:MOST_TAGS]


def section_of(
    metas: Mapping[str, str],
    described: Iterable[Mapping[str, Any]],
    trails: Iterable[Mapping[str, Any]],
    title: str | None,
    site: str | None,
) -> str | None:
    """Returns the section that the page states, else the first step of its breadcrumb trail that
    is neither the front page nor the article. A list is in order: its first is the widest."""
    for name in _SECTIONS:
        if name in metas and (found := json_ld.one_line(metas[name], LONGEST_SECTION)):
            return found
    for thing in described:
        for name in json_ld.names_in(thing.get("articleSection")):
            if found := json_ld.one_line(name, LONGEST_SECTION):
                return found
    no_section = _HOME | {(title or "").casefold(), (site or "").casefold()}
    for trail in trails:
        steps = [json_ld.one_line(name, LONGEST_SECTION) for name in json_ld.steps_in(trail)]
        if steps and title is None:
            steps.pop()  # the last step is the page itself, more often than not
        for step in steps:
            if step and step.casefold() not in no_section:
                return step
    return None
