"""Extracts the article of a page: title, byline, date, language, text and markdown."""

from typing import Any

import orjson

from curtsy.model.outcome import Failed, Record, Reply
from curtsy.scrapers.articles.extraction import extract
from curtsy.scrapers.content_verdicts import page_text
from curtsy.scrapers.page_verdicts import no_article


def article(reply: Reply) -> Record | Failed:
    page = page_text(reply, plain=True)
    if isinstance(page, Failed):
        return page
    found = (
        _plain(page.text) if page.is_plain else extract(page.text, reply.url, page.charset).parts
    )
    if (failure := no_article(found, reply.status)) is not None:
        return failure
    content = orjson.dumps(found, option=orjson.OPT_SORT_KEYS)
    return Record(content, "application/json", "utf-8")


def _plain(text: str) -> dict[str, Any]:
    """Plain text is its own article: no parser changes it."""
    return {"title": None, "text": text.strip(), "markdown": text.strip(), "language": None}
