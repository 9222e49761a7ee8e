"""Tells pages of HTML from other content by its type and by what it is: feeds, sitemaps, JSON and
files are often served as HTML, XML or plain text."""

import re
from typing import NamedTuple

import orjson

from curtsy.model.failure_kinds import Kind
from curtsy.model.outcome import Failed, Reply
from curtsy.scrapers.charset import text_of
from curtsy.scrapers.media_type import OCTETS, PLAIN, is_html, is_xml, media_type_of, type_by_looks

_PROLOG = re.compile(
    r"\s*(?:<\?.*?\?>|<!--.*?-->|<!doctype[^>\[]*+(?:\[[^\]]*+\])?+[^>]*+>)", re.I | re.S
)
_ELEMENT = re.compile(r"\s*<([A-Za-z_][\w.:-]{0,60})")
_LONGEST_PROLOG = 20_000
_FEED = "a feed"
_SITEMAP = "a sitemap"
_ROOTS = {
    "urlset": _SITEMAP, "sitemapindex": _SITEMAP, "rss": _FEED, "feed": _FEED, "rdf:rdf": _FEED,
}  # fmt: skip
"""Root elements that no HTML page has."""
_ADVICE = {
    root: f" To fetch what it lists, start a crawl from it: `curtsy crawl --{option} URL`."
    for root, what in _ROOTS.items() for option in ["feed" if what == _FEED else "sitemap"]
}  # fmt: skip
_JSON_BEGINS = re.compile(r"\s*[{\[]")


class PageText(NamedTuple):
    text: str
    """Without characters U+0000."""
    charset: str
    is_plain: bool
    """Plain text without markup."""


def page_text(reply: Reply, *, plain: bool = False) -> PageText | Failed:
    """Returns the text of an HTML page, and with `plain` that of plain text too; fails for other
    content, and says what it is."""
    content_type = reply.headers.get("content-type")
    kind = media_type_of(content_type, reply.body)
    if not (is_html(kind) or is_xml(kind) or (plain and kind == PLAIN)):
        return _not_html(kind, reply)
    looks = type_by_looks(reply.body)
    if not looks.startswith("text/") and looks != OCTETS:
        return _not_html(f"{looks}, though its Content-Type is {kind}", reply)
    text, charset = text_of(reply.body, content_type)
    text = text.replace("\0", "")
    if (other := _other_content(text, kind)) is not None:
        return _not_html(other, reply, _ADVICE.get(root_of(text), ""))
    return PageText(text, charset, kind == PLAIN and looks == PLAIN)


def _not_html(what: str, reply: Reply, advice: str = "") -> Failed:
    sentence = f"The page is {what[:150]}, not HTML.{advice}"
    return Failed(Kind.NOT_SUPPORTED, sentence, reply.status)


def _other_content(text: str, kind: str) -> str | None:
    """Returns what the text is, if that is neither HTML nor plain text."""
    root = root_of(text)
    if root in _ROOTS:
        return f"{_ROOTS[root]} (XML, with the root <{root}>)"
    if is_xml(kind) and root.rpartition(":")[2] != "html":
        return f"XML with the root <{root}>" if root else f"{kind} without a root element"
    if _JSON_BEGINS.match(text):
        try:
            orjson.loads(text)
        except orjson.JSONDecodeError:
            return None
        return "JSON"
    return None


def root_of(text: str) -> str:
    """Returns the name of the first element in lower case; empty: the text begins otherwise."""
    at = 0
    while at < _LONGEST_PROLOG and (skipped := _PROLOG.match(text, at)) is not None:
        at = skipped.end()
    found = _ELEMENT.match(text, at)
    return found[1].lower() if found else ""
