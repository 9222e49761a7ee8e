"""Extracts an article: by the first tier where it is sure, else by the slow tier."""

from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import partial
from typing import Any

from selectolax.lexbor import LexborHTMLParser

from curtsy.model.urls import BadUrl, joined
from curtsy.scrapers.articles import metadata
from curtsy.scrapers.articles.blocks import as_written, markdown_of, text_of, tidied
from curtsy.scrapers.articles.body_choice import choose
from curtsy.scrapers.articles.bylines import byline_of
from curtsy.scrapers.articles.dates import LARGEST_SEARCHED, searched_date, stated_date
from curtsy.scrapers.articles.gate import better, doubt
from curtsy.scrapers.articles.outline import Outline, outline_of
from curtsy.scrapers.articles.slow_tier import pruned, slow_article, slow_blocks
from curtsy.scrapers.articles.writer import Absolute, Writer
from curtsy.scrapers.articles.writing_system import scale_of
from curtsy.scrapers.depth_check import is_too_deep
from curtsy.scrapers.links import base_of

_SAFE = ("http:", "https:", "mailto:")


@dataclass(frozen=True, slots=True)
class Extracted:
    parts: dict[str, Any]
    handed_over: str | None
    """Why the slow tier read the page; None: the first tier did."""


def extract(page: str, url: str, charset: str = "utf-8") -> Extracted:
    if is_too_deep(page):
        absolute = partial(absolute_url, url)
        return Extracted(slow_article(page, url, absolute), "deep")
    tree = LexborHTMLParser(page)
    body = tree.body
    if body is None:
        return Extracted({"title": None, "text": "", "language": None}, "nothing")
    head = metadata.head_of(tree)
    absolute = partial(absolute_url, base_of(tree, url, charset).url)
    outline = outline_of(body)
    title = metadata.title_of(head, outline)
    scale = scale_of(outline.texts)
    choice = choose(outline, scale)
    written = Writer(outline, absolute).write(choice.at)
    blocks = tidied(written, title, scale)
    reason = doubt(blocks, choice, scale)
    parts = _parts(head, outline, title, url, absolute)
    if parts["date"] is None:
        # The whole page: days stand in scripts and footers, and days in the text mislead alone.
        searched = page if len(page) <= LARGEST_SEARCHED else pruned(tree)
        parts["date"] = searched_date(searched, url, _today())
    if reason is not None:
        slow = slow_blocks(pruned(tree), url, absolute, thorough=not blocks)
        slow = tidied(as_written(slow, written), title, scale)
        blocks = better(slow, blocks, outline.prose_before[-1], scale)
    return Extracted(parts | {"text": text_of(blocks), "markdown": markdown_of(blocks)}, reason)


def _today() -> date:
    return datetime.now(UTC).date()


def _parts(
    head: metadata.Head, outline: Outline, title: str | None, url: str, absolute: Absolute
) -> dict[str, Any]:
    site = metadata.site_of(head)
    parts = {
        "title": title,
        "byline": byline_of(head.metas, head.described, outline, site),
        "date": stated_date(head.metas, head.described, outline, url, _today()),
        "site": site,
        "description": metadata.description_of(head),
        "language": head.language,
    }
    more = {
        "image": absolute(metadata.image_of(head)),
        "canonical": absolute(head.canonical),
        "tags": list(head.tags),
    }
    return parts | {name: value for name, value in more.items() if value}


def absolute_url(base: str, href: str | None) -> str | None:
    """Returns a link as an absolute URL; None: it leads nowhere, or would run something."""
    if not href:
        return None
    try:
        url = joined(base, href)
    except BadUrl:
        return None
    return url if url.startswith(_SAFE) else None
