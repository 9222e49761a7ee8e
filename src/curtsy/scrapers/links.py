"""Extracts the links of a page: canonical URLs, each once, in the order of the page."""

from itertools import islice
from urllib.parse import urljoin

from selectolax.lexbor import LexborHTMLParser

from curtsy.model.outcome import Failed, Reply
from curtsy.model.urls import MAX_URL_LENGTH, BadUrl, canonical
from curtsy.scrapers.content_verdicts import page_text

MOST_LINKS = 1_000
MOST_LOOKED_AT = 20_000


def links(reply: Reply) -> tuple[str, ...]:
    page = page_text(reply)
    if isinstance(page, Failed):
        return ()
    tree = LexborHTMLParser(page.text)
    found: dict[str, None] = {}
    base = base_of(tree, reply.url)
    for node in islice(tree.css("a[href], area[href]"), MOST_LOOKED_AT):
        if (url := absolute(base, node.attributes.get("href"))) is not None:
            found[url] = None
            if len(found) == MOST_LINKS:
                break
    return tuple(found)


def base_of(tree: LexborHTMLParser, url: str) -> str:
    """Returns the base URL of the page's links."""
    node = tree.css_first("base[href]")
    href = (node.attributes.get("href") or "").strip() if node is not None else ""
    return _joined(url, href) or url


def absolute(base: str, href: str | None) -> str | None:
    """Returns the canonical URL; None: the link cannot be fetched."""
    joined = _joined(base, (href or "").strip())
    if not joined:
        return None
    try:
        return canonical(joined).text
    except BadUrl:
        return None


def _joined(base: str, href: str) -> str | None:
    if not href or len(href) > MAX_URL_LENGTH:
        return None
    try:
        return urljoin(base, href)
    except ValueError:
        return None
