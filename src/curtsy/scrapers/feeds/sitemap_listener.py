"""Listens to sitemaps and to indexes of sitemaps, with the extensions for news and languages."""

from collections.abc import Mapping
from typing import Any

from curtsy.scrapers.feeds.dates import stamp_of
from curtsy.scrapers.feeds.plain_text import plain
from curtsy.scrapers.feeds.read_list import ReadList, resolved
from curtsy.scrapers.feeds.xml_reader import Reader

MOST_ALTERNATES = 300
"""Languages of one entry."""
_ENTRY_DEPTH = 2
_OWN = frozenset({"loc", "lastmod"})
"""Children of an entry; images and videos have a `loc` too."""
_NEWS = frozenset({
    "news:publication_date", "news:title", "news:language", "news:keywords", "news:name",
})  # fmt: skip
_LINKS = frozenset({"xhtml:link", "link"})


class SitemapListener:
    def __init__(self, found: ReadList, reader: Reader) -> None:
        self._found, self._reader = found, reader
        self._texts: dict[str, str] = {}
        self._alternates: dict[str, str | None] = {}
        """The language of each other URL of the entry."""

    def start(self, name: str, attributes: Mapping[str, str]) -> bool:
        if name in _OWN:
            return self._reader.depth == _ENTRY_DEPTH + 1
        if name in _LINKS:
            self._add_alternate(attributes)
        return name in _NEWS

    def _add_alternate(self, attributes: Mapping[str, str]) -> None:
        is_alternate = attributes.get("rel", "").lower() == "alternate"
        if is_alternate and "hreflang" in attributes and len(self._alternates) < MOST_ALTERNATES:
            url = resolved(self._reader.base, attributes.get("href"))
            if url is not None:
                self._alternates[url] = attributes["hreflang"][:35]

    def end(self, name: str, text: str | None) -> None:
        if text is not None:
            self._texts.setdefault(name, text)
        elif name in ("url", "sitemap") and self._reader.depth == _ENTRY_DEPTH:
            texts, alternates = self._texts, self._alternates
            self._texts, self._alternates = {}, {}
            url = resolved(self._reader.base, texts.get("loc"))
            updated_at = stamp_of(texts["lastmod"]) if "lastmod" in texts else None
            if name == "sitemap":
                self._found.add_list(url, "sitemap", updated_at=updated_at)
            else:
                self._add(url, updated_at, texts, alternates)

    def _add(
        self, url: str | None, updated_at: str | None, texts: Mapping[str, str],
        alternates: Mapping[str, str | None],
    ) -> None:  # fmt: skip
        fields: dict[str, Any] = {"url": url}
        if updated_at:
            fields["updated_at"] = updated_at
        if len(texts) > 2 or "news:title" in texts:  # more than `loc` and `lastmod`
            fields |= _news(texts)
        if alternates:
            fields["alternates"] = [
                {"url": other, "language": language} for other, language in alternates.items()
            ]
        self._found.add("", fields)
        for other, language in alternates.items():
            if other != url:
                self._found.add_alternate(other, updated_at, language)


def _news(texts: Mapping[str, str]) -> dict[str, Any]:
    found = {
        "title": plain(texts.get("news:title")),
        "published_at": stamp_of(texts.get("news:publication_date", "")),
        "language": plain(texts.get("news:language"), 35),
        "publication": plain(texts.get("news:name")),
    }
    return {name: value for name, value in found.items() if value}
