"""Builds the bodies of requests that create jobs."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

Page = str | Mapping[str, Any]
"""A URL, or an article with `url` and perhaps `source`, `category` and `priority`."""
CRAWL_FIELDS = frozenset({
    "user_id", "schedule_at", "interval", "cron", "timezone", "ignore_cache", "webhook_url",
    "finish_by", "dry_run", "name", "tags",
})  # fmt: skip
"""Fields of `POST /crawl`; all other keywords go into its `params`."""


def articles(pages: Iterable[Page], job: Mapping[str, Any]) -> dict[str, Any]:
    given = [{"url": page} if isinstance(page, str) else dict(page) for page in pages]
    return {"articles": given} | _as_json(job)


def crawl(
    start_urls: Sequence[str], *, spider: str, depth: int, more: Mapping[str, Any]
) -> dict[str, Any]:
    fields = {name: value for name, value in more.items() if name in CRAWL_FIELDS}
    params = {name: value for name, value in more.items() if name not in CRAWL_FIELDS}
    body = {"spider": spider, "start_urls": list(start_urls), "depth": depth, "params": params}
    return body | _as_json(fields)


def _as_json(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Writes datetimes as the API reads them."""
    return {
        name: value.isoformat() if isinstance(value, datetime) else value
        for name, value in fields.items()
    }
