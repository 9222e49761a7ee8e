"""Reads the links that a scraper of the user's own chose: URLs, or links that name a scraper."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from curtsy.model.link import MOST_LINK_PARAMS_BYTES, Link
from curtsy.scrapers.json_values import plain
from curtsy.scrapers.page import Broken, Page

_SCRAPER = re.compile(r"[a-z][a-z0-9_]{0,59}")


def chosen_links(links: Sequence[Any], page: Page) -> list[Link]:
    """Returns the links with absolute URLs, each once; says in the log how many lead nowhere.
    Raises `Broken` for what is no link."""
    if isinstance(links, str | bytes):
        raise Broken("links is text: it must be a list of URLs.")
    found: dict[tuple[str, str | None, bytes], Link] = {}
    nowhere = 0
    for n, given in enumerate(links):
        link = _whole(given, f"links[{n}]", page)
        if link is None:
            nowhere += 1
        else:
            found.setdefault((link.url, link.scraper, _canonical(link.params)), link)
    if nowhere:
        page.log(f"{nowhere} of {len(links)} links lead nowhere and were left out.")
    return list(found.values())


def _whole(given: Any, where: str, page: Page) -> Link | None:
    """Returns None for a link that cannot be fetched."""
    if not isinstance(given, Link):
        url = page.absolute(given) if isinstance(given, str) else None
        return Link(url) if url is not None else None
    if not isinstance(given.url, str):
        raise Broken(f"{where} has a URL of type {type(given.url).__name__}, not text.")
    if given.scraper is not None and not _is_scraper_name(given.scraper):
        raise Broken(f"{where} names {given.scraper!r:.100}, which is no name of a scraper.")
    params = _params(given.params, where) if given.params else None
    url = page.absolute(given.url)
    return Link(url, given.scraper, params) if url is not None else None


def _is_scraper_name(given: Any) -> bool:
    return isinstance(given, str) and _SCRAPER.fullmatch(given) is not None


def _params(given: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise Broken(f"{where} has params of type {type(given).__name__}, not a dict.")
    params: Mapping[str, Any] = plain(given, f"{where}.params")
    if (size := len(_canonical(params))) > MOST_LINK_PARAMS_BYTES:
        most = f"at most {MOST_LINK_PARAMS_BYTES} may be used, since they are stored with the link"
        raise Broken(f"The params of {where} take {size} bytes; {most}.")
    return params


def _canonical(params: Mapping[str, Any] | None) -> bytes:
    return orjson.dumps(params, option=orjson.OPT_SORT_KEYS)
