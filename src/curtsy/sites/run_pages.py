"""Reads the stored pages of a run: their records, whether they are the complete listing, and why
the run went no further."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import orjson

from curtsy.jobs.parsed_documents import parsed_documents
from curtsy.model.counts import counted
from curtsy.model.urls import BadUrl, canonical
from curtsy.scrapers.record_keys import hash_of, is_listing, records_on, sorted_json, with_url
from curtsy.store import Connection, Statement

MOST_RECORDS = 100_000
"""Per run: their keys stay in memory until all its pages are read."""
BYTES_AT_ONCE = 4 * 2**20
"""Size of the records that are in memory together."""

_CRAWL = Statement("SELECT admitted, max_pages FROM crawls WHERE job_id = :job_id")


class RunRecord(NamedTuple):
    key: str
    data: str
    """JSON, with the fields in the order of the scraper."""
    hash: str
    """The same whatever the order of the fields."""


Records = list[RunRecord]


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
    _last_next: str | None = None
    """Where the last page leads to."""
    _are_listings: bool = True

    def add(self, url: str, page: Any) -> Iterator[Records]:
        """Returns the page's records in batches, without records whose key an earlier page had."""
        before, some, size = len(self.keys), Records(), 0
        is_one = not is_listing(page)
        for key, fields in records_on(page, url):
            if key in self.keys:
                continue
            if len(self.keys) == MOST_RECORDS:
                self.has_more = True
                break
            self.keys.add(key)
            some.append(_run_record(key, with_url(fields, url) if is_one else fields))
            size += len(some[-1].data)
            if size >= BYTES_AT_ONCE:
                yield some
                some, size = [], 0
        if some:
            yield some
        self._added_last = len(self.keys) - before
        self.urls.append(url)
        self._last_next = page["next"] if is_listing(page) else None
        self._are_listings = self._are_listings and is_listing(page)
        if self._last_next is not None:
            self._following.append(self._last_next)

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

    def end(self, crawl: CrawlLimit | None, wanted: int) -> str | None:
        """Returns a sentence that says why the run went no further; None: nothing to say, as for a
        page that is no listing."""
        if not self.urls or not self._are_listings:
            return None
        if len(self.keys) > wanted:
            return f"These are the {wanted} that were wanted; the pages had more."
        if len(self.keys) == wanted:
            return f"These are the {wanted} that were wanted."
        pages = counted(len(self.urls), "page")
        if crawl is None:
            if self._added_last == 0:
                return f"The listing ended: {wanted} were wanted."
            return (f"{wanted} were wanted, but the last of {pages} still had new records: check "
                    "results_per_page and max_pages of the site.")  # fmt: skip
        following = self._last_next
        if following is None:
            return f"The listing ended after {pages}: {wanted} were wanted."
        if following in self.urls:
            return (f"{wanted} were wanted, but the last page leads back to {following}, which the "
                    "run had read.")  # fmt: skip
        if not _is_on_host_of(self.urls[0], following):
            return (f"{wanted} were wanted, but the last page leads on to another host, where runs "
                    f"of a site do not go: {following}")  # fmt: skip
        if crawl.admitted >= crawl.max_pages:
            return (f"{wanted} were wanted, but the run ended at its limit of {pages}: the listing "
                    "goes on. Raise max_pages of the site for more.")  # fmt: skip
        return None


def _run_record(key: str, fields: Mapping[str, Any]) -> RunRecord:
    return RunRecord(key, orjson.dumps(fields).decode(), hash_of(sorted_json(fields).decode()))


def _is_on_host_of(url: str, other: str) -> bool:
    try:
        return canonical(url).host == canonical(other).host
    except BadUrl:
        return False


def records_of(connection: Connection, job_id: int, pages: RunPages) -> Iterator[Records]:
    """Returns the records of a run in batches, in the order of its pages: all of them may not fit
    in memory. `pages` is complete once the iterator is exhausted."""
    for document in parsed_documents(connection, job_id):
        if document.page is not None:
            yield from pages.add(document.url, document.page)
        else:
            pages.unreadable += 1


def crawl_limit(connection: Connection, job_id: int) -> CrawlLimit | None:
    """Returns None for a run whose pages are numbered."""
    row = _CRAWL(connection, job_id=job_id).one_or_none()
    return CrawlLimit._make(row) if row is not None else None
