"""The text of an article that stands only in the page's data: applications put it there for search
engines and write it by script."""

from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

from selectolax.lexbor import LexborHTMLParser

from curtsy.scrapers.articles import json_ld
from curtsy.scrapers.articles.blocks import Block, tidied
from curtsy.scrapers.articles.outline import outline_of
from curtsy.scrapers.articles.writer import Absolute, Writer
from curtsy.scrapers.depth_check import shallow_part

LEAST, TIMES = 200, 2
"""Characters of a stated text that is worth taking, and how many times that of the page it has."""
MOST_LINES = 5_000


def stated_blocks(
    described: Iterable[Mapping[str, Any]], found: int, absolute: Absolute, title: str | None,
    scale: float,
) -> list[Block]:  # fmt: skip
    """Returns the blocks of the `articleBody`; none: the page has `found` characters itself."""
    least = max(LEAST * scale, TIMES * found)
    for thing in described:
        text = json_ld.text_in(thing, "articleBody") or ""
        if len(text) >= least:
            tree = LexborHTMLParser(shallow_part(_as_html(text)))
            if tree.body is not None:
                written = Writer(outline_of(tree.body), absolute).write(0)
                return tidied(written, title, scale)
    return []


def _as_html(text: str) -> str:
    if "</" in text:
        return text
    lines = (line.strip() for line in text.split("\n", MOST_LINES))
    return "".join(f"<p>{escape(line)}</p>" for line in lines if line)
