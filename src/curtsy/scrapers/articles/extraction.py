"""Extracts an article: by the first tier where it is sure, else by the slow tier."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import partial
from typing import Any

from selectolax.lexbor import LexborHTMLParser

from curtsy.model.urls import BadUrl, as_given, joined
from curtsy.scrapers.articles import metadata
from curtsy.scrapers.articles.blocks import Block, as_written, markdown_of, text_of, tidied
from curtsy.scrapers.articles.body_choice import choose
from curtsy.scrapers.articles.bylines import authors_of
from curtsy.scrapers.articles.dates import (
    LARGEST_SEARCHED,
    searched_date,
    stated_date,
    stated_instants,
)
from curtsy.scrapers.articles.gate import better, doubt
from curtsy.scrapers.articles.language import code_of, language_of
from curtsy.scrapers.articles.lead_image import lead_image
from curtsy.scrapers.articles.outline import Outline, outline_of
from curtsy.scrapers.articles.paywall import declared_price, is_teaser
from curtsy.scrapers.articles.slow_tier import pruned, slow_article, slow_blocks
from curtsy.scrapers.articles.stated_body import stated_blocks
from curtsy.scrapers.articles.topics import section_of, tags_of
from curtsy.scrapers.articles.writer import Absolute, Writer
from curtsy.scrapers.articles.writing_system import scale_of
from curtsy.scrapers.depth_check import is_too_deep, shallow_part
from curtsy.scrapers.links import base_of

_SAFE = ("http:", "https:", "mailto:")


LEAST_TEXT = 300
"""Characters. Where the page has less, its data may have the article."""
NOTHING: Mapping[str, Any] = {
    "title": None, "byline": None, "authors": [], "date": None, "published_at": None,
    "modified_at": None, "site": None, "section": None, "tags": [], "description": None,
    "image": None, "canonical_url": None, "language": None, "language_source": None,
    "paywall": False, "text": "", "markdown": "",
}  # fmt: skip
"""The fields of an article; each is in every record."""


@dataclass(frozen=True, slots=True)
class Extracted:
    parts: dict[str, Any]
    handed_over: str | None
    """Why the slow tier read the page; None: the first tier did."""


@dataclass(frozen=True, slots=True)
class _Page:
    """What the page says of itself, and its body laid out."""

    url: str
    tree: LexborHTMLParser
    head: metadata.Head
    outline: Outline
    absolute: Absolute
    title: str | None
    scale: float


def extract(
    page: str, url: str, charset: str = "utf-8", *, content_language: str | None = None
) -> Extracted:
    """`content_language` is the header of the response, which counts where the page is silent."""
    deep = is_too_deep(page)
    tree = LexborHTMLParser(shallow_part(page) if deep else page)
    body = tree.body
    if body is None:
        return Extracted(dict(NOTHING), "nothing")
    head, outline = metadata.head_of(tree), outline_of(body)
    absolute = partial(absolute_url, base_of(tree, url, charset).url)
    title, scale = metadata.title_of(head, outline), scale_of(outline.texts)
    read = _Page(url, tree, head, outline, absolute, title, scale)
    parts, blocks, reason = _deep(read, page) if deep else _by_tiers(read, page)
    text = text_of(blocks)
    parts["paywall"] = is_paid = _is_paid(read, text)
    if len(text) < LEAST_TEXT * scale and not is_paid:
        # Not of a paid article: what the page shows to nobody is not ours to take.
        stated = stated_blocks(head.described, len(text), absolute, title, scale)
        blocks, text = (stated, text_of(stated)) if stated else (blocks, text)
    language = language_of(head.language or code_of(content_language), text)
    parts |= {"language": language.code, "language_source": language.source}
    return Extracted(parts | {"text": text, "markdown": markdown_of(blocks)}, reason)


def _by_tiers(read: _Page, page: str) -> tuple[dict[str, Any], list[Block], str | None]:
    outline, title, scale = read.outline, read.title, read.scale
    choice = choose(outline, scale)
    written = Writer(outline, read.absolute).write(choice.at)
    blocks = tidied(written, title, scale)
    reason = doubt(blocks, choice, scale)
    parts = _parts(read, choice.at)
    if parts["date"] is None:
        # The whole page: days stand in scripts and footers, and days in the text mislead alone.
        searched = page if len(page) <= LARGEST_SEARCHED else pruned(read.tree)
        parts["date"] = searched_date(searched, read.url, _today())
    if reason is not None:
        slow = slow_blocks(pruned(read.tree), read.url, read.absolute, thorough=not blocks)
        slow = tidied(as_written(slow, written), title, scale)
        blocks = better(slow, blocks, outline.prose_before[-1], scale)
    return parts, blocks, reason


def _deep(read: _Page, page: str) -> tuple[dict[str, Any], list[Block], str]:
    """Lets the slow tier read a page that nests too deep for the parser of the first tier, which
    reads what the page says of itself in front of the depth."""
    found, blocks = slow_article(page, read.url, read.absolute)
    parts = _parts(read, 0)
    return parts | {key: parts[key] or value for key, value in found.items()}, blocks, "deep"


def _is_paid(read: _Page, text: str) -> bool:
    stated = declared_price(read.head.metas, read.head.described)
    return is_teaser(read.outline, text, read.scale) if stated is None else stated


def _today() -> date:
    return datetime.now(UTC).date()


def _parts(read: _Page, at: int) -> dict[str, Any]:
    """Returns all fields but those of the text; `at` is the element of the article."""
    head, outline, url = read.head, read.outline, read.url
    metas, described = head.metas, head.described
    site = metadata.site_of(head)
    authors = authors_of(metas, head.repeated, described, outline, site)
    published, modified = stated_instants(metas, described, _today())
    web = partial(web_url, read.absolute)
    return dict(NOTHING) | {
        "title": read.title,
        "byline": "; ".join(authors) or None,
        "authors": authors,
        "date": stated_date(metas, described, outline, url, _today()),
        "published_at": published,
        "modified_at": modified,
        "site": site,
        "section": section_of(metas, described, head.trails, read.title, site),
        "tags": tags_of(head.repeated.get("article:tag", ()), metas, described, outline),
        "description": metadata.description_of(head),
        "image": lead_image(metas, described, outline, at, web),
        "canonical_url": web(metadata.canonical_of(head)),
    }


def web_url(absolute: Absolute, href: str | None) -> str | None:
    """Returns the absolute URL of a page or an image; None: it is not one of http or https, or
    was cut off."""
    if href is None or len(href) >= metadata.LONGEST_META:
        return None
    try:
        return as_given(absolute(href.strip()) or "").text
    except BadUrl:
        return None


def absolute_url(base: str, href: str | None) -> str | None:
    """Returns a link as an absolute URL; None: it leads nowhere, or would run something."""
    if not href:
        return None
    try:
        url = joined(base, href)
    except BadUrl:
        return None
    return url if url.startswith(_SAFE) else None
