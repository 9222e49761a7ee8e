"""The form of an odd file: what a server sends, and what must be read of it."""

from dataclasses import dataclass, field
from typing import Any

HOST = "http://a.example"
URL = f"{HOST}/news/list.xml"

Fields = dict[str, Any]


@dataclass(frozen=True)
class Odd:
    body: bytes
    entries: tuple[Fields, ...] = ()
    """The fields of the records, in order."""
    keys: tuple[str, ...] | None = None
    """None: the URLs of the entries."""
    more: tuple[tuple[str, str], ...] = ()
    """URL and scraper of the lists that it names."""
    next: str | None = None
    says: tuple[str, ...] = ()
    """Parts of the lines for the job's log, in order."""
    fails: tuple[str, str] | None = None
    """The kind of the failure, and a part of its sentence."""
    scraper: str = "feed"
    content_type: str = "application/xml"
    url: str = URL
    dates: dict[str, str | None] = field(default_factory=dict)


def feed(body: str | bytes, *entries: Fields, **more: Any) -> Odd:
    return Odd(body.encode() if isinstance(body, str) else body, entries, **more)


def sitemap(body: str | bytes, *entries: Fields, **more: Any) -> Odd:
    return feed(body, *entries, scraper="sitemap", **more)


def rss(items: str, head: str = "", version: str = "2.0") -> str:
    return f'<rss version="{version}"{head}><channel><title>News</title>{items}</channel></rss>'


def atom(entries: str, head: str = "", of_feed: str = "") -> str:
    name = 'xmlns="http://www.w3.org/2005/Atom"'
    return f"<feed {name}{head}><title>News</title>{of_feed}{entries}</feed>"


def urlset(entries: str, head: str = "") -> str:
    return f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"{head}>{entries}</urlset>'


def index(entries: str) -> str:
    name = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
    return f"<sitemapindex {name}>{entries}</sitemapindex>"


def at(path: str, **fields: Any) -> Fields:
    return {"url": f"{HOST}{path}"} | fields
