"""The pages of a run as they were stored: their records, and whether they are the whole listing."""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import orjson
import zstandard

from curtsy.scrapers.keys import KEY, is_listing
from curtsy.store import Connection, Statement

LARGEST_DOCUMENT = 64 * 2**20
_A_KEY = re.compile(r"[\w-]{22}")

_DOCUMENTS = Statement(
    """
    SELECT d.content, d.bytes, p.url FROM items i
    JOIN documents d ON d.page_id = i.page_id AND d.version = i.document_version
    JOIN pages p ON p.id = i.page_id
    WHERE i.job_id = :job_id AND i.state = 1 ORDER BY i.position
    """
)
_CRAWL = Statement("SELECT admitted, max_pages FROM crawls WHERE job_id = :job_id")


@dataclass(slots=True)
class RunPages:
    records: dict[str, str] = field(default_factory=dict)
    """By key, as JSON, in the order of the pages; a key that came again was seen already."""
    unreadable: int = 0
    """Documents in which no records can be looked for."""
    urls: list[str] = field(default_factory=list)
    _following: list[str] = field(default_factory=list)
    _added_last: int = 0
    """Records that only the last page had."""

    def add(self, url: str, page: Any) -> None:
        before = len(self.records)
        for key, fields in _on_page(page, url):
            if key not in self.records:
                self.records[key] = orjson.dumps(fields, option=orjson.OPT_SORT_KEYS).decode()
        self._added_last = len(self.records) - before
        self.urls.append(url)
        if is_listing(page) and page["next"] is not None:
            self._following.append(page["next"])

    def are_all(self, crawl: Any) -> bool:
        """Whether the listing goes on nowhere: what it did not have then, it has not any more.

        Pages that were counted end with one that has nothing to add. Pages that were followed end
        where none leads on, and none was left out because there were enough.
        """
        if self.unreadable:
            return False
        if crawl is None:
            return self._added_last == 0
        followed = {url for url in self._following if url in set(self.urls)}
        if len(followed) < len(set(self._following)):
            return False
        chosen_otherwise = len(self.urls) > 1 + len(followed)
        return not (chosen_otherwise and crawl.admitted >= crawl.max_pages)


def pages_of(connection: Connection, job_id: int) -> RunPages:
    found = RunPages()
    unpack = zstandard.ZstdDecompressor()
    for row in _DOCUMENTS(connection, job_id=job_id):
        page = _read(unpack, row)
        if isinstance(page, dict):
            found.add(row.url, page)
        else:
            found.unreadable += 1
    return found


def is_whole(connection: Connection, job_id: int, pages: RunPages) -> bool:
    return pages.are_all(_CRAWL(connection, job_id=job_id).one_or_none())


def hash_of(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _read(unpack: zstandard.ZstdDecompressor, row: Any) -> Any:
    """None: nobody can."""
    if row.bytes > LARGEST_DOCUMENT:
        return None
    try:
        return orjson.loads(unpack.decompress(row.content, max_output_size=LARGEST_DOCUMENT))
    except (zstandard.ZstdError, orjson.JSONDecodeError):
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
