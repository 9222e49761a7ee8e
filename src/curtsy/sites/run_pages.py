"""The pages of a run as they were stored: their records, and whether they are the whole listing."""

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import orjson
import zstandard

from curtsy.scrapers.record_keys import KEY, is_listing
from curtsy.store import Connection, Statement

LARGEST_DOCUMENT = 64 * 2**20
LARGE_DOCUMENT = 2**20
"""From here on it is read by Python's own json: orjson takes twelve times its size for that."""
MOST_RECORDS = 100_000
"""Of one run: their keys are remembered until all its pages are read."""
BYTES_AT_ONCE = 4 * 2**20
"""Of records that are in hand together."""
_A_KEY = re.compile(r"[\w-]{22}")

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


@dataclass(slots=True)
class RunPages:
    """What is known of a run's pages as they are read one after the other."""

    keys: set[str] = field(default_factory=set)
    unreadable: int = 0
    """Documents in which no records can be looked for."""
    has_more: bool = False
    """There were more records than a run may have."""
    urls: list[str] = field(default_factory=list)
    _following: list[str] = field(default_factory=list)
    _added_last: int = 0
    """Records that only the last page had."""

    def add(self, url: str, page: Any) -> Iterator[Records]:
        """The page's records, some at a time; a key that came again was seen already."""
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

    def are_all(self, crawl: Any) -> bool:
        """Whether the listing goes on nowhere: what it did not have then, it has not any more.

        Pages that were counted end with one that has nothing to add. Pages that were followed end
        where none leads on, and none was left out because there were enough.
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
    """In the order of the pages, some at a time: all of them may be more than there is memory.
    What is known of the pages is complete when there are no more."""
    unpack = zstandard.ZstdDecompressor()
    for item in _ITEMS(connection, job_id=job_id).all():
        stored = _DOCUMENT(connection, page_id=item.page_id, version=item.version).one_or_none()
        if stored is None:
            continue
        page = _read(unpack, stored)
        if isinstance(page, dict):
            yield from pages.add(item.url, page)
        else:
            pages.unreadable += 1
        del stored, page  # else they are there until the next ones are


def is_whole(connection: Connection, job_id: int, pages: RunPages) -> bool:
    return pages.are_all(_CRAWL(connection, job_id=job_id).one_or_none())


def hash_of(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _read(unpack: zstandard.ZstdDecompressor, stored: Any) -> Any:
    """None: nobody can."""
    if stored.bytes > LARGEST_DOCUMENT:
        return None
    try:
        content = unpack.decompress(stored.content, max_output_size=LARGEST_DOCUMENT)
        return (orjson if len(content) < LARGE_DOCUMENT else json).loads(content)
    except (zstandard.ZstdError, ValueError, RecursionError):
        return None


def _on_page(page: dict[str, Any], url: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Its records; a page that is one record, as an article is, is known by the key that its
    scraper declared, or by its URL."""
    if is_listing(page):
        yield from ((record["key"], record["fields"]) for record in page["records"])
        return
    key = page.get(KEY)
    fields = {"url": url} | {name: value for name, value in page.items() if name != KEY}
    yield key if isinstance(key, str) and _A_KEY.fullmatch(key) else hash_of(url), fields
