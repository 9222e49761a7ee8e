"""Builds the bodies of requests that create jobs."""

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any

from curtsy.client.bodies import ArticleBody, CrawlBody
from curtsy.model.urls import BadUrl, canonical

PageBody = str | ArticleBody
"""A URL, or an article with `url` and perhaps `source`, `category` and `priority`."""
CRAWL_FIELDS = frozenset(CrawlBody.__annotations__) | {"cron"}
"""Fields of `POST /crawl`; all other keywords go into its `params`."""
LISTS = frozenset({"tags", "include", "exclude", "keep", "follow"})
"""Fields that are lists of words; a single word stands for a list of one."""
SENT = ("method", "json", "form", "body", "content_type")
"""Fields of an article that say what is sent to its URL."""
BYTES = (bytes, bytearray, memoryview)


def articles(pages: PageBody | Iterable[PageBody], job: Mapping[str, Any]) -> dict[str, Any]:
    """A single page stands for a list of one."""
    several: list[Any] = [pages]
    if not isinstance(pages, str | Mapping):
        several = _several(pages, "Pages")
    return {"articles": [_article(page) for page in several]} | as_json(job)


def different(pages: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Leaves out pages whose canonical URL and body came before: a job has each page once."""
    first: dict[tuple[str, str], Mapping[str, Any]] = {}
    for page in pages:
        first.setdefault(_identity(page), page)
    return list(first.values())


def _identity(page: Mapping[str, Any]) -> tuple[str, str]:
    url = page.get("url")
    with suppress(BadUrl):  # the API says what is wrong with it
        url = canonical(url).text if isinstance(url, str) else url
    sent = [(name, page[name]) for name in SENT if page.get(name) is not None]
    return str(url), json.dumps(sent, default=repr) if sent else ""


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
    body = {"spider": spider, "start_urls": starts, "depth": depth, "params": as_json(params)}
    return body | _crawl_fields(fields)


def schedule(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a schedule; those of the request in its payload are written like a call's."""
    body, payload = as_json(fields), fields.get("payload")
    if not isinstance(payload, Mapping):
        return body
    return body | {"payload": {kind: _request(kind, given) for kind, given in payload.items()}}


def _request(kind: str, given: Any) -> Any:
    if not isinstance(given, Mapping):
        return given
    return _crawl_fields(given) if kind == "crawl" else as_json(given)


def _crawl_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    body, params = as_json(fields), fields.get("params")
    return body | {"params": as_json(params)} if isinstance(params, Mapping) else body


def _article(page: object) -> dict[str, Any]:
    if isinstance(page, str):
        return {"url": page}
    if isinstance(page, Mapping):
        return dict(page)
    raise TypeError(f"A page is a URL or an article such as {{'url': …}}, not {_short(page)}.")


def as_json(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Writes the fields of a call as the API reads them: datetimes and lists as JSON, a single
    word as a list of one. What stands inside a field is the caller's own, and keeps its words."""
    return {
        name: _several(value, name) if name in LISTS and value is not None else _plain(value)
        for name, value in fields.items()
    }


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(one) for one in value]
    return value


def _several(given: Any, what: str) -> list[Any]:
    """The items of an iterable; a text is one item, not a list of letters."""
    if isinstance(given, str):
        return [given]
    if isinstance(given, BYTES) or not isinstance(given, Iterable):
        raise TypeError(f"{what} must be text or a list of texts, not {_short(given)}.")
    return list(given)


def _short(value: object) -> str:
    return f"{value!r:.80}"
