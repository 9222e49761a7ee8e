"""Extracts the article of a page: what the page says of it, its text and markdown."""

from typing import Any

import orjson

from curtsy.model.outcome import Failed, Record, Reply
from curtsy.scrapers.articles.extraction import NOTHING, extract
from curtsy.scrapers.articles.language import code_of, language_of
from curtsy.scrapers.content_verdicts import page_text
from curtsy.scrapers.page_verdicts import no_article


def article(reply: Reply) -> Record | Failed:
    page = page_text(reply, plain=True)
    if isinstance(page, Failed):
        return page
    stated = reply.headers.get("content-language")
    if page.is_plain:
        found = _plain(page.text, stated)
    else:
        found = extract(page.text, reply.url, page.charset, content_language=stated).parts
    if (failure := no_article(found, reply, "" if page.is_plain else page.text)) is not None:
        return failure
    content = orjson.dumps(found, option=orjson.OPT_SORT_KEYS)
    return Record(content, "application/json", "utf-8")


def _plain(text: str, content_language: str | None) -> dict[str, Any]:
    """Plain text is its own article: no parser changes it."""
    text = text.strip()
    language = language_of(code_of(content_language), text)
    return dict(NOTHING) | {"text": text, "markdown": text, "language": language.code,
                            "language_source": language.source}  # fmt: skip
