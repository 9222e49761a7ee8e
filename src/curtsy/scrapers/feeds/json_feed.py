"""Reads JSON Feed 1.0 and 1.1."""

from collections.abc import Mapping
from typing import Any

from curtsy.scrapers.feeds.dates import stamp_of
from curtsy.scrapers.feeds.plain_text import LONGEST_SUMMARY, plain
from curtsy.scrapers.feeds.read_list import ReadList, resolved

MOST_TAGS = 50
_VERSION = "jsonfeed.org/version/"
_OWN = ("home_page_url", "feed_url", "next_url")
"""Fields that other JSON hardly has."""


def is_json_feed(parsed: Any) -> bool:
    if not isinstance(parsed, Mapping) or not isinstance(parsed.get("items"), list):
        return False
    version = parsed.get("version")
    says_so = isinstance(version, str) and _VERSION in version
    return says_so or any(isinstance(parsed.get(name), str) for name in _OWN)


def read_json_feed(parsed: Mapping[str, Any], url: str, found: ReadList) -> None:
    found.title = plain(_text(parsed.get("title")))
    found.language = plain(_text(parsed.get("language")), 35)
    found.next = resolved(url, _text(parsed.get("next_url")))
    authors = _author(parsed)
    for item in parsed["items"]:
        if isinstance(item, Mapping):
            found.add(_id_of(item) or "", _fields(item, url, authors))


def _fields(item: Mapping[str, Any], url: str, of_feed: str | None) -> dict[str, Any]:
    given_id = _id_of(item)
    tags = item.get("tags")
    named = tags[:MOST_TAGS] if isinstance(tags, list) else []
    links = (resolved(url, _text(item.get(name))) for name in ("url", "external_url"))
    fields = {
        "url": next((link for link in links if link), None) or _url_in(given_id, url),
        "title": plain(_text(item.get("title"))),
        "published_at": stamp_of(_text(item.get("date_published")) or ""),
        "updated_at": stamp_of(_text(item.get("date_modified")) or ""),
        "author": _author(item) or of_feed,
        "summary": plain(_first(item, "summary", "content_text", "content_html"), LONGEST_SUMMARY),
        "language": plain(_text(item.get("language")), 35),
        "tags": [tag for one in named if (tag := plain(_text(one), 100))],
    }
    return {name: value for name, value in fields.items() if value}


def _author(thing: Mapping[str, Any]) -> str | None:
    """The first author, as version 1.1 or 1.0 names authors."""
    authors = thing.get("authors")
    one = authors[0] if isinstance(authors, list) and authors else thing.get("author")
    return plain(_text(one.get("name")), 200) if isinstance(one, Mapping) else None


def _first(item: Mapping[str, Any], *names: str) -> str | None:
    return next((text for name in names if (text := _text(item.get(name)))), None)


def _id_of(item: Mapping[str, Any]) -> str | None:
    """Some feeds have numbers as ids."""
    value = item.get("id")
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return str(value) if is_number else _text(value)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _url_in(given_id: str | None, feed_url: str) -> str | None:
    is_url = given_id is not None and given_id.lower().startswith(("https://", "http://"))
    return resolved(feed_url, given_id) if is_url else None
