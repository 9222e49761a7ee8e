"""Tells what a page is that should be a feed or a sitemap, reads it, and packs what was found."""

from collections.abc import Mapping
from typing import Any

import orjson

from curtsy.model.failure_kinds import Kind
from curtsy.model.outcome import Failed, Record, Reply
from curtsy.scrapers.content_verdicts import root_of
from curtsy.scrapers.feeds.body_text import BadGzip, Warn, body_text
from curtsy.scrapers.feeds.feed_listener import FeedListener
from curtsy.scrapers.feeds.json_feed import is_json_feed, read_json_feed
from curtsy.scrapers.feeds.page_links import read_page_links
from curtsy.scrapers.feeds.read_list import Enough, ReadList
from curtsy.scrapers.feeds.sitemap_listener import SitemapListener
from curtsy.scrapers.feeds.url_lines import is_robots_txt, read_robots_txt, read_url_lines
from curtsy.scrapers.feeds.xml_reader import (
    Listener,
    Reader,
    Refused,
    begins_at,
    read_xml,
)
from curtsy.scrapers.media_type import PLAIN, type_by_looks

FEED, SITEMAP = "feed", "sitemap"
_KINDS = {
    "urlset": "sitemap", "sitemapindex": "sitemap index", "rss": "rss", "rdf": "rss",
    "feed": "atom", "channel": "rss",
}  # fmt: skip
"""By the root of the XML, without its prefix."""
_LOOKED_AT = 2_000


class _Other(ValueError):
    """The page is no such list; the text is a sentence."""


def read_list(reply: Reply, scraper: str, params: Mapping[str, Any]) -> Record | Failed:
    """Returns the list; with the parameter `summary` only what it is and how much it has."""
    lines: list[tuple[str, str]] = []

    def warn(sentence: str) -> None:
        lines.append(("WARNING", sentence))

    try:
        found = _read(reply, scraper, warn, lines)
    except BadGzip as bad:
        return Failed(Kind.BAD_ENCODING, str(bad), reply.status, lines=tuple(lines))
    except Refused as refused:
        return Failed(Kind.NOT_SUPPORTED, str(refused), reply.status, lines=tuple(lines))
    except _Other as other:
        return Failed(Kind.EXTRACT_FAILED, str(other), reply.status, lines=tuple(lines))
    content = found.summary() if params.get("summary") else found.packed(warn, reply.url)
    return Record(content, "application/json", "utf-8", links=(), lines=tuple(lines))


def _read(reply: Reply, scraper: str, warn: Warn, lines: list[tuple[str, str]]) -> ReadList:
    text, charset = body_text(reply, warn)
    start = text[:_LOOKED_AT].lstrip("\ufeff \t\r\n\0")[:1]
    root = "" if start in ("{", "[") else root_of(text[begins_at(text) :]).rpartition(":")[2]
    found = ReadList(_KINDS.get(root, ""))
    try:
        if root in _KINDS:
            _read_markup(text, reply.url, found, warn)
        elif start == "<":
            _read_page(text, charset, reply.url, scraper, root, found, lines)
        elif start in ("{", "["):
            _read_json(text, reply.url, found)
        elif scraper == SITEMAP:
            _read_lines(text, reply, found)
        else:
            raise _Other(f"The page is {_content(text, reply)}, not a feed.")
    except Enough as enough:
        warn(str(enough))
    return found


def _read_markup(text: str, url: str, found: ReadList, warn: Warn) -> None:
    def choose(reader: Reader, _root: str) -> Listener:
        # what a parser that gave up has found is found again by the one that recovers
        found.restart()
        is_sitemap = found.kind.startswith("sitemap")
        return SitemapListener(found, reader) if is_sitemap else FeedListener(found, reader)

    read_xml(text, url, choose, warn)


def _read_page(
    text: str, charset: str, url: str, scraper: str, root: str, found: ReadList,
    lines: list[tuple[str, str]],
) -> None:  # fmt: skip
    """Reads an HTML page: it may name feeds, but is none itself."""
    is_xml = type_by_looks(text[:200].encode(errors="replace")) == "text/xml" and root != "html"
    what = f"XML with the root <{root}>" if is_xml else "an HTML page"
    if scraper == SITEMAP:
        raise _Other(f"The page is {what}, not a sitemap.")
    found.kind = "page"
    read_page_links(text, charset, url, found)
    if not found.more:
        raise _Other(f"The page is {what}, not a feed, and links to none.")
    lines.append(("INFO", f"The page is {what}, not a feed; it links to {len(found.more)}."))


def _read_json(text: str, url: str, found: ReadList) -> None:
    try:
        parsed = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise _Other(f"The page begins like JSON, but is none: {error}."[:300]) from None
    if not is_json_feed(parsed):
        raise _Other("The page is JSON, but no JSON Feed: version or items are missing.")
    found.kind = "json feed"
    read_json_feed(parsed, url, found)


def _read_lines(text: str, reply: Reply, found: ReadList) -> None:
    if is_robots_txt(text, reply.url):
        found.kind = "robots.txt"
        read_robots_txt(text, reply.url, found)
        if not found.more:
            raise _Other("The robots.txt names no sitemap: start from the sitemap itself.")
        return
    found.kind = "text sitemap"
    read_url_lines(text, found)
    if not found.entries:
        raise _Other(f"The page is {_content(text, reply)}, not a sitemap: no line of it is a URL.")


def _content(text: str, reply: Reply) -> str:
    if not text.strip():
        return "empty"
    looks = type_by_looks(reply.body)
    return "plain text" if looks == PLAIN else looks
