"""Reads the stored pages of a run: their records, and whether they are the complete listing."""

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import orjson
import zstandard

from curtsy.scrapers.record_keys import KEY, is_listing
from curtsy.store import Connection, Statement

LARGEST_DOCUMENT = 64 * 2**20
LARGE_DOCUMENT = 2**20
"""Larger documents are parsed by Python's json: orjson takes twelve times their size in memory."""
MOST_RECORDS = 100_000
"""Per run: their keys stay in memory until all its pages are read."""
BYTES_AT_ONCE = 4 * 2**20
"""Size of the records that are in memory together."""
_KEY_FORM = re.compile(r"[\w-]{22}")

_ITEMS = Statement(
    """
    SELECT i.page_id, i.document_version AS version, p.url FROM items i
    JOIN pages p ON p.id = i.page_id
    WHERE i.job_id = :job_id AND i.state = 1 ORDER BY i.position
    """
)
_DOCUMENT = Statement(
    "SELECT content, bytes FROM documents WHERE page_id = :page_id AND version = :version"
)
_CRAWL = Statement("SELECT admitted, max_pages FROM crawls WHERE job_id = :job_id")


Records = list[tuple[str, str]]
"""Keys, each with its record as JSON."""


class CrawlLimit(NamedTuple):
    admitted: int
    max_pages: int


@dataclass(slots=True)
class RunPages:
    """The state of reading a run's pages one after the other."""

    keys: set[str] = field(default_factory=set)
    unreadable: int = 0
    """Documents that cannot be parsed."""
    has_more: bool = False
    """The run found more records than `MOST_RECORDS`."""
    urls: list[str] = field(default_factory=list)
    _following: list[str] = field(default_factory=list)
    _added_last: int = 0
    """Records that the last page added."""

    def add(self, url: str, page: Any) -> Iterator[Records]:
        """Returns the page's records in batches, without records whose key an earlier page had."""
        before, some, size = len(self.keys), Records(), 0
        for key, fields in _on_page(page, url):
            if key in self.keys:
                continue
            if len(self.keys) == MOST_RECORDS:
                self.has_more = True
                break
            self.keys.add(key)
            some.append((key, orjson.dumps(fields, option=orjson.OPT_SORT_KEYS).decode()))
            size += len(some[-1][1])
            if size >= BYTES_AT_ONCE:
                yield some
                some, size = [], 0
        if some:
            yield some
        self._added_last = len(self.keys) - before
        self.urls.append(url)
        if is_listing(page) and page["next"] is not None:
            self._following.append(page["next"])

    def are_all(self, crawl: CrawlLimit | None) -> bool:
        """Whether the pages are the complete listing, so that records which they lack are removed.

        Numbered pages are complete when the last one adds nothing. Followed pages are complete when
        every next link was followed, and no link was dropped because of the limit of pages.
        """
        if self.unreadable or self.has_more:
            return False
        if crawl is None:
            return self._added_last == 0
        followed = {url for url in self._following if url in set(self.urls)}
        if len(followed) < len(set(self._following)):
            return False
        chosen_otherwise = len(self.urls) > 1 + len(followed)
        return not (chosen_otherwise and crawl.admitted >= crawl.max_pages)


def records_of(connection: Connection, job_id: int, pages: RunPages) -> Iterator[Records]:
    """Returns the records of a run in batches, in the order of its pages: all of them may not fit
    in memory. `pages` is complete once the iterator is exhausted."""
    unpack = zstandard.ZstdDecompressor()
    for item in _ITEMS(connection, job_id=job_id).all():
        stored = _DOCUMENT(connection, page_id=item.page_id, version=item.version).one_or_none()
        if stored is None:
            continue
        page = _read(unpack, stored.content, stored.bytes)
        if isinstance(page, dict):
            yield from pages.add(item.url, page)
        else:
            pages.unreadable += 1
        del stored, page  # frees them before the next page is read


def is_whole(connection: Connection, job_id: int, pages: RunPages) -> bool:
    row = _CRAWL(connection, job_id=job_id).one_or_none()
    return pages.are_all(CrawlLimit._make(row) if row is not None else None)


def hash_of(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _read(unpack: zstandard.ZstdDecompressor, packed: bytes, size: int) -> Any:
    """Returns None for a document that is too large or cannot be parsed."""
    if size > LARGEST_DOCUMENT:
        return None
    try:
        content = unpack.decompress(packed, max_output_size=LARGEST_DOCUMENT)
        return (orjson if len(content) < LARGE_DOCUMENT else json).loads(content)
    except (zstandard.ZstdError, ValueError, RecursionError):
        return None


def _on_page(page: dict[str, Any], url: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Returns the records of a page. The key of a page that is one record, such as an article, is
    the key that its scraper declared, or a hash of its URL."""
    if is_listing(page):
        yield from ((record["key"], record["fields"]) for record in page["records"])
        return
    key = page.get(KEY)
    fields = {"url": url} | {name: value for name, value in page.items() if name != KEY}
    yield key if isinstance(key, str) and _KEY_FORM.fullmatch(key) else hash_of(url), fields
