"""Extracts the article of a page: title, byline, date, language, text and markdown."""

import re
from typing import Any

import orjson
from lxml import html
from trafilatura import bare_extraction
from trafilatura.settings import Document
from trafilatura.utils import load_html
from trafilatura.xml import xmltotxt

from curtsy.model.outcome import Failed, Record, Reply
from curtsy.scrapers.content_verdicts import page_text
from curtsy.scrapers.page_verdicts import no_article

SHORT = 800
"""Characters. Below this the slower extraction is tried too: it often finds more, and is cheap on
short pages."""


def article(reply: Reply) -> Record | Failed:
    page = page_text(reply, plain=True)
    if isinstance(page, Failed):
        return page
    found = _plain(page.text) if page.is_plain else _extracted(page.text, reply.url)
    if (failure := no_article(found, reply.status)) is not None:
        return failure
    content = orjson.dumps(found, option=orjson.OPT_SORT_KEYS)
    return Record(content, "application/json", "utf-8")


def _plain(text: str) -> dict[str, Any]:
    """Plain text is its own article: no parser changes it."""
    return {"title": None, "text": text.strip(), "markdown": text.strip(), "language": None}


def _extracted(page: str, url: str) -> dict[str, Any]:
    if "html" not in page[:50].lower():  # the parser needs the tag, which HTML allows to omit
        page = f"<!DOCTYPE html><html>{page}"
    tree = load_html(page)
    if tree is None:
        return {"title": _title(page), "text": ""}
    language = _language(tree)
    found = _bare(tree, url, fast=True)
    if found is None or len(found["text"]) < SHORT:
        again = load_html(page)
        found = (_bare(again, url, fast=False) if again is not None else None) or found
    if found is None:
        return {"title": _title(page), "text": "", "language": language}
    return found | {"language": language}


def _bare(tree: html.HtmlElement, url: str, *, fast: bool) -> dict[str, Any] | None:
    document = bare_extraction(
        tree, url=url, fast=fast, include_comments=False, include_formatting=True,
        with_metadata=True, output_format="markdown",
    )  # fmt: skip
    if not isinstance(document, Document):
        return None
    markdown = xmltotxt(document.body, include_formatting=True).strip()
    return {
        "title": document.title,
        "byline": document.author,
        "date": document.date,
        "text": xmltotxt(document.body, include_formatting=False).strip(),
        "markdown": markdown,
        "site": document.sitename,
        "description": document.description,
    }


def _language(tree: html.HtmlElement) -> str | None:
    """Returns the language that the page declares, as a code of two or three letters."""
    declared = (tree.get("lang") or tree.get("xml:lang") or "").strip().lower()
    found = re.match(r"[a-z]{2,3}(?![a-z])", declared)
    return found[0] if found else None


def _title(page: str) -> str | None:
    found = re.search(r"<title[^>]{0,200}>([^<]{1,500})", page[:100_000], re.IGNORECASE)
    return found[1].strip() if found else None
