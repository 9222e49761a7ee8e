"""What was read of a feed or sitemap, and the document that is stored of it."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from curtsy.model.urls import BadUrl, joined
from curtsy.scrapers.feeds.body_text import Warn
from curtsy.scrapers.record_keys import distinct, hash_of, pack_listing

MOST_ENTRIES = 100_000
"""Of one document; the sitemap protocol allows 50,000."""
MOST_LISTS = 50_000
"""Feeds and sitemaps that one document may name."""
MOST_TEXT = 40 * 2**20
"""Bytes of all entries: a document of more than 64 MiB is not stored."""
LONGEST_KEY = 200
LONGEST_URL = 8_000
_BYTES_OF_ENTRY = 100
_BROKEN_LINE = re.compile(r"[\r\n\t]\s*")


class Enough(Exception):
    """A limit is reached: what was read is kept. The text is a sentence for the job's log."""


@dataclass(slots=True)
class ReadList:
    kind: str
    """`rss`, `atom`, `json feed`, `sitemap`, `sitemap index`, `text sitemap`, `robots.txt` or
    `page`."""
    title: str | None = None
    language: str | None = None
    entries: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    """By the id that the entry names itself; empty: it has none."""
    alternates: dict[str, dict[str, Any]] = field(default_factory=dict)
    """URLs of other languages, which may have entries of their own."""
    more: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Feeds and sitemaps that this one names, by URL."""
    next: str | None = None
    """Where the list goes on."""
    without_url: int = 0
    room: int = MOST_TEXT

    def restart(self) -> None:
        """Forgets what was found, but not what the list is."""
        self.entries, self.alternates, self.more = [], {}, {}
        self.title = self.language = self.next = None
        self.without_url, self.room = 0, MOST_TEXT

    def add(self, given_id: str, fields: dict[str, Any]) -> None:
        """Adds an entry with the fields that it has. Raises `Enough`."""
        if not fields.get("url"):
            self.without_url += 1
            return
        if len(self.entries) >= MOST_ENTRIES:
            raise Enough(f"There are more than {MOST_ENTRIES} entries; the rest was left out.")
        self.room -= _size(given_id, fields)
        if self.room < 0:
            mebibytes = MOST_TEXT // 2**20
            raise Enough(f"The entries take more than {mebibytes} MiB; the rest was left out.")
        self.entries.append((given_id, fields))

    def add_alternate(self, url: str, updated_at: str | None, language: str | None) -> None:
        """Adds another URL of an entry, unless the list has an entry for it, too. Raises
        `Enough`."""
        if url not in self.alternates:
            if len(self.alternates) >= MOST_ENTRIES:
                raise Enough(f"There are more than {MOST_ENTRIES} entries; the rest was left out.")
            fields = {"url": url, "updated_at": updated_at, "language": language}
            fields = {name: value for name, value in fields.items() if value}
            self.room -= _size("", fields)
            self.alternates[url] = fields

    def add_list(
        self, url: str | None, scraper: str, *, updated_at: str | None = None,
        title: str | None = None,
    ) -> None:  # fmt: skip
        """Adds a feed or sitemap that this one names. Raises `Enough`."""
        if url is None:
            self.without_url += 1
            return
        if len(self.more) >= MOST_LISTS:
            raise Enough(f"There are more than {MOST_LISTS} parts; the rest was left out.")
        one = {"url": url, "scraper": scraper, "updated_at": updated_at}
        self.more.setdefault(url, one | ({"title": title} if title else {}))

    def packed(self, warn: Warn, url: str) -> bytes:
        """The document, from which crawls read the entries."""
        if self.without_url:
            warn(f"{self.without_url} entries have no usable URL and were left out.")
        # An id that several pages share identifies none of them.
        pages = {(given, fields["url"]) for given, fields in self.entries if given}
        shared = Counter(given for given, _url in pages)
        keyed = [(_key(given if shared[given] == 1 else fields["url"]), fields)
                 for given, fields in self._all_entries()]  # fmt: skip
        records = distinct(keyed, warn)
        is_empty = not (records or self.more)
        following = self.next if self.next != url else None
        return pack_listing(
            records, following=following, is_empty=is_empty, more=[*self.more.values()]
        )

    def _all_entries(self) -> list[tuple[str, dict[str, Any]]]:
        if not self.alternates:
            return self.entries
        own = {fields["url"] for _id, fields in self.entries}
        others = [("", fields) for url, fields in self.alternates.items() if url not in own]
        return [*self.entries, *others][:MOST_ENTRIES]

    def summary(self) -> bytes:
        """The document of those who ask only what there is: counts and dates, no entries."""
        dates = [date for _id, fields in self.entries
                 if (date := fields.get("updated_at") or fields.get("published_at"))]  # fmt: skip
        return orjson.dumps({
            "kind": self.kind, "title": self.title, "language": self.language,
            "entries": len({fields["url"] for _id, fields in self._all_entries()}),
            "newest_at": max(dates, default=None), "oldest_at": min(dates, default=None),
            "goes_on": self.next is not None, "more": [*self.more.values()],
        }, option=orjson.OPT_SORT_KEYS)  # fmt: skip


def resolved(base: str, href: str | None) -> str | None:
    """Returns the absolute URL of a link; None: it leads to no page. Whoever fetches it brings it
    into its canonical form."""
    if not href:
        return None
    href = _BROKEN_LINE.sub("", href.strip())
    if len(href) > LONGEST_URL or not href:
        return None
    if href.isascii() and href.startswith(("https://", "http://")):
        return href
    if href[:4].lower() == "www.":
        href = f"{base.partition(':')[0]}://{href}"
    try:
        found = joined(base, href)
    except BadUrl:
        return None
    return found if found.startswith(("https://", "http://")) else None


def _size(given_id: str, fields: Mapping[str, Any]) -> int:
    return _BYTES_OF_ENTRY + len(given_id) + sum(map(_bytes_of, fields.values()))


def _bytes_of(value: Any) -> int:
    if isinstance(value, str):
        return len(value) if value.isascii() else len(value.encode(errors="replace"))
    return sum(_bytes_of(part) + 20 for one in value for part in
               (one.values() if isinstance(one, Mapping) else (one,)))  # fmt: skip


def _key(text: str) -> str:
    return text if len(text) <= LONGEST_KEY else hash_of(text)
