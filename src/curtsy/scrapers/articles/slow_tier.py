"""Lets trafilatura find the text of a page on which the first tier is not sure."""

from typing import Any

from lxml import html
from selectolax.lexbor import LexborHTMLParser
from trafilatura import bare_extraction, load_html

from curtsy.scrapers.articles.blocks import Block, tidied
from curtsy.scrapers.articles.outline import outline_of
from curtsy.scrapers.articles.writer import Absolute, Writer

_DROPPED = [
    "style", "svg", "nav", "footer", "aside", "button", "select", "iframe", "noscript", "template",
    "canvas", "script",
]  # fmt: skip
_TAGS = {"item": "li", "lb": "br", "quote": "blockquote", "row": "tr", "graphic": "img"}
_MARKS = {"#b": "strong", "#i": "em", "#t": "code", "#u": "u"}


def slow_blocks(page: str, url: str, absolute: Absolute, *, thorough: bool) -> list[Block]:
    """Returns the blocks of the article; none: there is no article. With `thorough`, at once with
    all fallbacks."""
    found = _document(page, url, fast=not thorough)
    if found is None and not thorough:
        found = _document(page, url, fast=False)
    return [] if found is None else _blocks(found.body, absolute)


def slow_article(page: str, url: str, absolute: Absolute) -> tuple[dict[str, Any], list[Block]]:
    """Returns a few metadata that trafilatura finds and the blocks of the article, for pages that
    the first tier's parser does not read."""
    found = _document(page, url, fast=True, with_metadata=True)
    if found is None:
        return {}, []
    parts = {"title": found.title, "date": found.date, "description": found.description}
    return parts, tidied(_blocks(found.body, absolute), found.title, 1.0)


def _blocks(body: Any, absolute: Absolute) -> list[Block]:
    tree = LexborHTMLParser(_as_html(body))
    return Writer(outline_of(tree.body), absolute).write(0) if tree.body is not None else []


def pruned(tree: LexborHTMLParser) -> str:
    """Returns the page without what is never part of an article. Changes the tree."""
    tree.strip_tags(_DROPPED)
    return tree.html or ""


def _document(page: str, url: str, *, fast: bool, with_metadata: bool = False) -> Any:
    """Returns trafilatura's document; None: it found nothing."""
    tree = load_html(page)
    if tree is None:
        return None
    return bare_extraction(
        tree, url=url, fast=fast, include_comments=False, include_formatting=True,
        with_metadata=with_metadata, output_format="markdown",
    )  # fmt: skip


def _as_html(body: Any) -> str:
    """Gives the elements of trafilatura's tree their HTML names."""
    for element in body.iter():
        if not isinstance(element.tag, str):
            continue
        rend = element.get("rend") or ""
        match element.tag:
            case "hi":
                element.tag = _MARKS.get(rend, "span")
            case "head":
                element.tag = rend if rend in ("h1", "h2", "h3", "h4", "h5", "h6") else "h2"
            case "list":
                element.tag = "ol" if rend == "ol" else "ul"
            case "cell":
                element.tag = "th" if element.get("role") == "head" else "td"
            case "ref":
                element.tag = "a"
                element.set("href", element.get("target") or "")
            case "code" if "\n" in "".join(element.itertext()):
                element.tag = "pre"
            case "body":
                element.tag = "div"
            case tag if tag in _TAGS:  # others keep their name, which may be impossible to set
                element.tag = _TAGS[tag]
    return f"<body>{html.tostring(body, encoding='unicode')}</body>"
