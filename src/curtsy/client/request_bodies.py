"""Builds the bodies of requests that create jobs."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

Page = str | Mapping[str, Any]
"""A URL, or an article with `url` and perhaps `source`, `category` and `priority`."""
CRAWL_FIELDS = frozenset({
    "user_id", "schedule_at", "interval", "cron", "timezone", "ignore_cache", "webhook_url",
    "finish_by", "dry_run", "name", "tags",
})  # fmt: skip
"""Fields of `POST /crawl`; all other keywords go into its `params`."""
LISTS = frozenset({"tags", "include", "exclude"})
"""Fields that are lists of words; a single word stands for a list of one."""
BYTES = (bytes, bytearray, memoryview)


def articles(pages: Page | Iterable[Page], job: Mapping[str, Any]) -> dict[str, Any]:
    """A single page stands for a list of one."""
    several = [pages] if isinstance(pages, str | Mapping) else _several(pages, "Pages")
    return {"articles": [_article(page) for page in several]} | _as_json(job)


def crawl(
    start_urls: str | Iterable[str], *, spider: str, depth: int, more: Mapping[str, Any]
) -> dict[str, Any]:
    """A single start URL stands for a list of one."""
    starts = _several(start_urls, "Start URLs")
    for url in starts:
        if not isinstance(url, str):
            raise TypeError(f"A start URL is text, not {type(url).__name__}: {_short(url)}.")
    fields = {name: value for name, value in more.items() if name in CRAWL_FIELDS}
    params = {name: value for name, value in more.items() if name not in CRAWL_FIELDS}
    body = {"spider": spider, "start_urls": starts, "depth": depth, "params": _as_json(params)}
    return body | _as_json(fields)


def _article(page: Page) -> dict[str, Any]:
    if isinstance(page, str):
        return {"url": page}
    if isinstance(page, Mapping):
        return dict(page)
    raise TypeError(f"A page is a URL or an article such as {{'url': …}}, not {_short(page)}.")


def _as_json(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Writes datetimes and lists as the API reads them."""
    return {
        name: _several(value, name) if name in LISTS else _instant(value)
        for name, value in fields.items()
    }


def _instant(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value


def _several(given: Any, what: str) -> list[Any]:
    """The items of an iterable; a text is one item, not a list of letters."""
    if isinstance(given, str):
        return [given]
    if isinstance(given, BYTES) or not isinstance(given, Iterable):
        raise TypeError(f"{what} must be text or a list of texts, not {_short(given)}.")
    return list(given)


def _short(value: object) -> str:
    return f"{value!r:.80}"
