"""Listens to RSS (0.9x, 1.0, 2.0) and Atom (0.3, 1.0), and to mixtures of them."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from curtsy.scrapers.feeds.dates import stamp_of
from curtsy.scrapers.feeds.plain_text import LONGEST_SUMMARY, plain
from curtsy.scrapers.feeds.read_list import ReadList, resolved
from curtsy.scrapers.feeds.xml_reader import Reader

MOST_TAGS = 50
MOST_LINKS = 100
"""Of one entry."""
LONGEST_PERSON = 500
_ENTRIES = frozenset({"item", "entry"})
_OTHERS = frozenset({"image", "textinput", "source", "contributor", "media:group"})
"""Elements whose children are about something else than the entry or the feed."""
_PERSONS = frozenset({"author"})
_PUBLISHED = ("pubdate", "published", "issued", "dcterms:issued", "dc:date", "dcterms:created",
              "created")  # fmt: skip
_UPDATED = ("updated", "modified", "dcterms:modified")
_SUMMARIES = ("description", "summary", "itunes:summary", "content:encoded", "content")
_AUTHORS = ("dc:creator", "name", "author", "itunes:author")
_LANGUAGES = ("dc:language", "language")
_TEXTS = frozenset({
    "title", "link", "guid", "id", "dc:title", "feedburner:origlink", "dc:identifier", "tagline",
    *_PUBLISHED, *_UPDATED, *_SUMMARIES, *_AUTHORS, *_LANGUAGES,
}) - _PERSONS  # fmt: skip
_TAGS = frozenset({"category", "dc:subject"})
_RELS = ("alternate", "", "related", "via", "self", "enclosure")
"""Which link leads to the page of an entry: the first kind that there is."""
_PERSON = re.compile(r"\S+@\S+\s*\((.{1,500})\)", re.DOTALL)
_LINK_IN_TEXT = re.compile(r"https?://\S+", re.IGNORECASE)


class _Link(NamedTuple):
    rel: str
    url: str
    is_html: bool


class _Element:
    """What was read of an entry, or of the feed itself."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self.links: list[_Link] = []
        self.tags: dict[str, None] = {}
        self.language: str | None = None
        self.base = ""
        """Of the link that stands as text."""
        self.id_is_url = True

    def first(self, names: Sequence[str]) -> str | None:
        return next((text for name in names if (text := self.texts.get(name))), None)

    def stamp(self, names: Sequence[str]) -> str | None:
        """The first date that can be understood."""
        found = (stamp_of(text) for name in names if (text := self.texts.get(name)))
        return next((stamp for stamp in found if stamp), None)

    def link(self, rel: str) -> str | None:
        """The first link of this kind, HTML before other content."""
        of_rel = [one for one in self.links if one.rel == rel]
        return min(of_rel, key=lambda one: not one.is_html).url if of_rel else None


class FeedListener:
    def __init__(self, found: ReadList, reader: Reader) -> None:
        self._found, self._reader = found, reader
        self._feed = _Element()
        self._entry: _Element | None = None
        self._other_at = 0
        """The depth of the element that is about something else; 0: there is none."""

    def start(self, name: str, attributes: Mapping[str, str]) -> bool:
        name = name.removeprefix("atom:")
        if self._other_at:
            return False
        if name in _ENTRIES:
            self._entry = _Element()
        elif name in _OTHERS and self._reader.depth > 1:
            self._other_at = self._reader.depth
            return False
        element = self._entry or self._feed
        if "xml:lang" in attributes and (name in _ENTRIES or element is self._feed):
            element.language = attributes["xml:lang"]
        self._read_attributes(name, attributes, element)
        return name in _TEXTS or name in _TAGS or (name in _PERSONS and not self._is_atom)

    @property
    def _is_atom(self) -> bool:
        return self._found.kind == "atom"

    def _read_attributes(self, name: str, attributes: Mapping[str, str], element: _Element) -> None:
        if name == "link":
            element.base = self._reader.base
            if "href" in attributes:
                self._add_link(element, attributes.get("rel", ""), attributes)
        elif name == "enclosure":
            self._add_link(element, "enclosure", {"href": attributes.get("url", "")})
        elif name == "content" and "src" in attributes:
            self._add_link(element, "related", {"href": attributes["src"]})
        elif name == "guid":
            said = next((v for k, v in attributes.items() if k.lower() == "ispermalink"), "true")
            element.id_is_url = said.strip().lower() != "false"
        elif name == "category" and attributes.get("term"):
            self._add_tag(element, attributes.get("label") or attributes["term"])
        elif name == "item" and "rdf:about" in attributes:
            element.texts["rdf:about"] = attributes["rdf:about"]

    def _add_link(self, element: _Element, rel: str, attributes: Mapping[str, str]) -> None:
        url = resolved(self._reader.base, attributes.get("href"))
        if url is not None and len(element.links) < MOST_LINKS:
            kind = attributes.get("type", "text/html")
            for one in (rel.lower().split() or [""])[:5]:
                element.links.append(_Link(one.rpartition("/")[2], url, "html" in kind))
            self._read_feed()

    def _add_tag(self, element: _Element, text: str) -> None:
        if len(element.tags) < MOST_TAGS and (tag := plain(text, 100)) is not None:
            element.tags[tag] = None

    def end(self, name: str, text: str | None) -> None:
        name = name.removeprefix("atom:")
        if self._other_at:
            if self._other_at == self._reader.depth:
                self._other_at = 0
        elif text is not None:
            element = self._entry or self._feed
            if name in _TAGS:
                self._add_tag(element, text)
            elif name not in element.texts and text.strip():
                element.texts[name] = text
                self._read_feed()
        elif name in _ENTRIES and self._entry is not None:
            entry, self._entry = self._entry, None
            self._found.add(_id_of(entry), self._fields(entry))

    def _fields(self, entry: _Element) -> dict[str, Any]:
        fields = {
            "url": self._url_of(entry),
            "title": plain(entry.first(("title", "dc:title"))),
            "published_at": entry.stamp(_PUBLISHED),
            "updated_at": entry.stamp(_UPDATED),
            "author": _author(entry.first(_AUTHORS)),
            "summary": plain(entry.first(_SUMMARIES), LONGEST_SUMMARY),
            "language": plain(entry.language or entry.first(_LANGUAGES), 35),
            "tags": list(entry.tags),
        }
        return {name: value for name, value in fields.items() if value}

    def _url_of(self, entry: _Element) -> str | None:
        """The page of the entry: not the one that counts clicks, and not the entry's own data."""
        base = entry.base or self._reader.base
        if url := resolved(base, entry.texts.get("feedburner:origlink")):
            return url
        in_text = resolved(base, entry.texts.get("link"))
        if in_text is not None and not self._is_atom:
            return in_text
        links = [url for rel in _RELS if (url := entry.link(rel))]
        given_id = (entry.first(("guid", "id", "dc:identifier", "rdf:about")) or "").strip()
        is_url = entry.id_is_url and _LINK_IN_TEXT.fullmatch(given_id) is not None
        first = entry.link("alternate") or entry.link("") or in_text
        return first or (resolved(base, given_id) if is_url else None) or next(iter(links), None)

    def _read_feed(self) -> None:
        """Takes over what is known of the feed itself: it may end early."""
        if self._entry is not None:
            return
        feed, found = self._feed, self._found
        found.title = found.title or plain(feed.first(("title", "dc:title")))
        found.language = found.language or plain(feed.language or feed.first(_LANGUAGES), 35)
        found.next = feed.link("next") or feed.link("prev-archive")


def _id_of(entry: _Element) -> str:
    return " ".join((entry.first(("guid", "id")) or "").split())


def _author(text: str | None) -> str | None:
    """`jane@a.example (Jane Doe)` is how RSS names Jane Doe."""
    text = (text or "").strip()[:LONGEST_PERSON]
    named = _PERSON.fullmatch(text)
    return plain(named[1] if named is not None else text, 200)
