"""From what a page says of an address to the address itself."""

from urllib.parse import urljoin

from selectolax.lexbor import LexborHTMLParser

from curtsy.model.urls import MAX_URL_LENGTH, BadUrl, canonical


def base_of(tree: LexborHTMLParser, url: str) -> str:
    """What the page's links are relative to."""
    node = tree.css_first("base[href]")
    said = (node.attributes.get("href") or "").strip() if node is not None else ""
    return _joined(url, said) or url


def absolute(base: str, href: str | None) -> str | None:
    """Canonical; None: it leads nowhere that could be fetched."""
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
