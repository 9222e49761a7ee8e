"""Reads which feeds and sitemaps an HTML page names."""

from itertools import islice

from selectolax.lexbor import LexborHTMLParser

from curtsy.scrapers.depth_check import shallow_part
from curtsy.scrapers.feeds.plain_text import plain
from curtsy.scrapers.feeds.read_list import ReadList
from curtsy.scrapers.links import base_of

MOST_LOOKED_AT = 1_000
_FEEDS = frozenset({
    "application/rss+xml", "application/atom+xml", "application/feed+json", "application/rdf+xml",
    "application/x.atom+xml", "application/x-atom+xml", "text/rss+xml", "text/rss", "text/atom",
    "application/rss", "application/atom",
})  # fmt: skip
_MAYBE_FEEDS = frozenset({"application/json", "application/xml", "text/xml"})
"""Types of feeds and of other things: only links with `feed` or a title count."""


def read_page_links(text: str, charset: str, url: str, found: ReadList) -> None:
    tree = LexborHTMLParser(shallow_part(text.replace("\0", "")))
    base = base_of(tree, url, charset)
    title = tree.css_first("title")
    found.title = plain(title.text()) if title is not None else None
    for node in islice(tree.css("link[rel][href], a[rel][href]"), MOST_LOOKED_AT):
        given = node.attributes
        rels = (given.get("rel") or "").lower().split()
        kind = (given.get("type") or "").partition(";")[0].strip().lower()
        link = base.absolute(given.get("href"))
        if link is None:
            continue
        if _is_feed(rels, kind):
            found.add_list(link, "feed", title=plain(given.get("title")))
        elif "sitemap" in rels:
            found.add_list(link, "sitemap", title=plain(given.get("title")))
        elif "next" in rels and found.next is None:
            found.next = link


def _is_feed(rels: list[str], kind: str) -> bool:
    if "feed" in rels:
        return kind in ("", *_FEEDS, *_MAYBE_FEEDS)
    return "alternate" in rels and kind in _FEEDS
