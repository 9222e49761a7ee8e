"""Reads sitemaps of plain text, one URL a line, and the `Sitemap:` lines of robots.txt."""

import re
from collections.abc import Iterator

from curtsy.scrapers.feeds.read_list import ReadList, resolved

_SITEMAP = re.compile(r"[ \t]*sitemap[ \t]*:[ \t]*(\S+)", re.IGNORECASE)
_RULE = re.compile(r"^[ \t]*(?:user-agent|disallow|allow)[ \t]*:", re.IGNORECASE | re.MULTILINE)
_URL = re.compile(r"https?://[^\s<>\"]+", re.IGNORECASE)
_LINE = re.compile(r"[^\r\n]+")
_LOOKED_AT = 20_000


def is_robots_txt(text: str, url: str) -> bool:
    path = url.partition("?")[0]
    return path.endswith("/robots.txt") or _RULE.search(text, 0, _LOOKED_AT) is not None


def read_robots_txt(text: str, url: str, found: ReadList) -> None:
    for line in _lines(text):
        if (given := _SITEMAP.match(line)) is not None:
            found.add_list(resolved(url, given[1]), "sitemap")


def read_url_lines(text: str, found: ReadList) -> None:
    """Other lines are counted as entries without a URL."""
    for line in _lines(text):
        line = line.strip()
        if line and not line.startswith("#"):
            found.add("", {"url": line} if _URL.fullmatch(line) else {})


def _lines(text: str) -> Iterator[str]:
    return (found[0] for found in _LINE.finditer(text))
