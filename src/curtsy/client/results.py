"""What a page of a job became: an article, records, a page as it came, or a failure."""

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from curtsy.client.answer import Answer, read


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Article(Answer):
    """A page that the article scraper read."""

    article_id: str
    url: str
    source: str | None = None
    category: str | None = None
    title: str | None = None
    content: str | None = None
    """The text, a paragraph a line."""
    scraped_at: datetime
    cached: bool = False
    """The store had it already; nothing was fetched."""
    found_at: str | None = None
    """Where redirects led; None: nowhere else."""
    byline: str | None = None
    """The authors in one text."""
    authors: tuple[str, ...] = ()
    date: str | None = None
    published_at: str | None = None
    """In the form of ISO 8601; with an offset where the page states one."""
    modified_at: str | None = None
    language: str | None = None
    language_source: str | None = None
    """`declared` or `detected`."""
    markdown: str | None = None
    site: str | None = None
    section: str | None = None
    tags: tuple[str, ...] = ()
    description: str | None = None
    image: str | None = None
    canonical_url: str | None = None
    """The address that the page calls its own."""
    paywall: bool = False
    """The article, or the rest of it, has to be paid for: `content` may be a teaser."""


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class RecordRow(Answer):
    """A record that a scraper found on a page."""

    article_id: str
    url: str
    source: str | None = None
    category: str | None = None
    scraped_at: datetime
    cached: bool = False
    found_at: str | None = None
    """Where redirects led; None: nowhere else."""
    scraper: str | None = None
    record_key: str | None = None
    record: Mapping[str, object]
    """Empty where the scraper stored what cannot be written as JSON; in the JSON it is null."""


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class RawPage(Answer):
    """A page as its host sent it, or a text that a scraper of your own made of it."""

    article_id: str
    url: str
    source: str | None = None
    category: str | None = None
    title: str | None = None
    content: str | None = None
    content_type: str
    content_encoding: str | None = None
    """`base64` where the content is not text."""
    scraped_at: datetime
    cached: bool = False
    found_at: str | None = None

    @property
    def body(self) -> bytes:
        """The content as bytes; a text in UTF-8."""
        content = self.content or ""
        return base64.b64decode(content) if self.content_encoding else content.encode()


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class PageFailure(Answer):
    """A page that was given up, or cancelled."""

    article_id: str
    url: str
    source: str | None = None
    category: str | None = None
    error: str
    """Why, in a sentence."""
    kind: str | None = None
    """One of the failure kinds."""
    attempted_at: datetime


class RunRecord(Answer):
    """A record of a run of a declared site: the fields of its recipe, by name."""

    __slots__ = ()

    @property
    def key(self) -> str:
        """Identifies the record across runs."""
        return str(self["_key"])

    @property
    def change(self) -> str:
        """`new`, `changed`, `same` or `removed` since the last run of the same search."""
        return str(self["_change"])

    @property
    def record(self) -> dict[str, object]:
        """The record's own fields."""
        return {name: value for name, value in self.items() if name not in ("_key", "_change")}

    def __repr__(self) -> str:
        return f"RunRecord({dict(self)!r})"


PageResult = Article | RecordRow | RawPage | PageFailure
Result = PageResult | RunRecord
PACKED = {"records", "next", "empty"}
"""The fields of a page of several records, as the store has it."""


def result_of(row: dict[str, Any]) -> PageResult:
    """Returns a row of a job's results as what it is."""
    if "error" in row:
        return read(PageFailure, row)
    if "record" in row:
        return _record_row(row)
    return read(RawPage, row) if "content_type" in row else read(Article, row)


def _record_row(row: dict[str, Any]) -> RecordRow:
    found = read(RecordRow, row if row["record"] is not None else row | {"record": {}})
    found.update(row)
    return found


def records_in(result: Result) -> list[dict[str, Any]]:
    """The records of one result; none for an article, a failure, or a record that is null."""
    if isinstance(result, RecordRow) and result.get("record", result.record) is None:
        return []
    if isinstance(result, RecordRow | RunRecord):
        return [dict(result.record)]
    if isinstance(result, RawPage) and result.content_type == "application/json":
        return _records_in_json(result.content or "")
    return []


def _records_in_json(content: str) -> list[dict[str, Any]]:
    """The records in the content of a page, where a server sends a page and not its records."""
    try:
        found = json.loads(content)
    except ValueError:
        return []
    if isinstance(found, dict) and found.keys() == PACKED:
        return [dict(one["fields"]) for one in found["records"]]
    return [found] if isinstance(found, dict) else []
