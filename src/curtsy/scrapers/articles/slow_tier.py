"""Lets trafilatura find the text of a page on which the first tier is not sure."""

from typing import Any

from lxml import html
from selectolax.lexbor import LexborHTMLParser
from trafilatura import bare_extraction, load_html

from curtsy.scrapers.articles.blocks import Block
from curtsy.scrapers.articles.outline import outline_of
from curtsy.scrapers.articles.writer import Absolute, Writer

_DROPPED = [
    "style",
    "svg",
    "nav",
    "footer",
    "aside",
    "button",
    "select",
    "iframe",
    "noscript",
    "template",
    "canvas",
    "script",
]
_TAGS = {"head": "h2", "item": "li", "lb": "br", "quote": "blockquote", "row": "tr", "cell": "td",
         "ref": "a", "graphic": "img", "del": "del", "list": "ul", "code": "code"}  # fmt: skip
_MARKS = {"#b": "strong", "#i": "em", "#t": "code", "#u": "u"}
LONGEST_INLINE_CODE = 200


def slow_blocks(page: str, url: str, absolute: Absolute, *, thorough: bool) -> list[Block]:
    """Returns the blocks of the article; none: there is no article. With `thorough`, at once with
    all fallbacks."""
    body = _body(page, url, fast=not thorough)
    if body is None and not thorough:
        body = _body(page, url, fast=False)
    if body is None:
        return []
    tree = LexborHTMLParser(_as_html(body))
    return Writer(outline_of(tree.body), absolute).write(0) if tree.body is not None else []


def pruned(tree: LexborHTMLParser) -> str:
    """Returns the page without what is never part of an article. Changes the tree."""
    tree.strip_tags(_DROPPED)
    return tree.html or ""


def _body(page: str, url: str, *, fast: bool) -> Any:
    tree = load_html(page)
    if tree is None:
        return None
    document: Any = bare_extraction(
        tree, url=url, fast=fast, include_comments=False, include_formatting=True,
        include_links=True, with_metadata=False, output_format="markdown",
    )  # fmt: skip
    return None if document is None else document.body


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
            case tag:
                element.tag = _TAGS.get(tag, tag)
    return f"<body>{html.tostring(body, encoding='unicode')}</body>"
