"""Extracts the links of a page: canonical URLs, each once, in the order of the page."""

import re
from itertools import islice
from typing import NamedTuple
from urllib.parse import quote

from selectolax.lexbor import LexborHTMLParser

from curtsy.model.outcome import Failed, Reply
from curtsy.model.urls import BadUrl, canonical, joined
from curtsy.scrapers.content_verdicts import page_text
from curtsy.scrapers.depth_check import shallow_part

MOST_LINKS = 1_000
MOST_LOOKED_AT = 20_000
_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")


def links(reply: Reply) -> tuple[str, ...]:
    page = page_text(reply)
    if isinstance(page, Failed):
        return ()
    tree = LexborHTMLParser(shallow_part(page.text))
    found: dict[str, None] = {}
    base = base_of(tree, reply.url, page.charset)
    for node in islice(tree.css("a[href], area[href]"), MOST_LOOKED_AT):
        if (url := base.absolute(node.attributes.get("href") or "")) is not None:
            found[url] = None
            if len(found) == MOST_LINKS:
                break
    return tuple(found)


class Base(NamedTuple):
    """What the links of a page are joined to."""

    url: str
    charset: str = "utf-8"
    """The codec of the page: browsers encode the query of a link in the page's charset."""

    def absolute(self, href: str | None) -> str | None:
        """Returns the canonical URL; None: the link cannot be fetched."""
        if href is None:
            return None
        try:
            return canonical(joined(self.url, self._encoded(href))).text
        except BadUrl:
            return None

    def _encoded(self, href: str) -> str:
        """Percent-encodes the query by the page's charset. A character that the charset lacks
        becomes a reference, as in forms."""
        if href.isascii() or self.charset.startswith("utf-"):
            return href
        rest, hash_mark, fragment = href.partition("#")
        path, mark, query = rest.partition("?")
        try:
            encoded = _NOT_ASCII.sub(self._escape, query)
        except LookupError:  # a charset that Python does not know; browsers do
            return href
        return f"{path}{mark}{encoded}{hash_mark}{fragment}"

    def _escape(self, found: re.Match[str]) -> str:
        return quote(found[0].encode(self.charset, errors="xmlcharrefreplace"), safe="")


def base_of(tree: LexborHTMLParser, url: str, charset: str) -> Base:
    """Returns the base of the page's links: the page's own URL, or that of its first `<base>`."""
    node = tree.css_first("base[href]")
    if node is None:
        return Base(url, charset)
    try:
        found = joined(url, node.attributes.get("href") or "")
    except BadUrl:
        return Base(url, charset)
    return Base(url if found.startswith(("data:", "javascript:")) else found, charset)
