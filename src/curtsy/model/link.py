"""A link of a page: where it leads, and which scraper reads the page there."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import orjson


class Link(NamedTuple):
    url: str
    scraper: str | None = None
    """The scraper of the linked page; None: that of the crawl."""
    params: Mapping[str, Any] | None = None
    """Passed to that scraper, beside the arguments of the crawl."""


def as_link(given: "str | Link") -> Link:
    return Link(given) if isinstance(given, str) else given


MOST_LINK_PARAMS_BYTES = 4_096
"""The parameters are stored with the link, and again with the page."""


def packed(links: Iterable[Link]) -> list[Any]:
    """The links as JSON values: most have a URL only."""
    return [link.url if link.scraper is None and link.params is None else list(link)
            for link in links]  # fmt: skip


def unpacked(links: Iterable[Any]) -> tuple[Link, ...]:
    """Reads `packed` links. Raises `ValueError` for what is none: it may come from a process that
    its scraper has disturbed."""
    return tuple(Link(link) if isinstance(link, str) else _checked(link) for link in links)


def _checked(given: Any) -> Link:
    match given:
        case [str(url), None | str() as scraper, None | dict() as params]:
            if scraper is None or "\0" not in scraper:
                return Link(url, scraper, params)
    raise ValueError(f"no link: {given!r}"[:200])


def dumped(links: Iterable[Link]) -> str:
    return orjson.dumps(packed(links)).decode()


def loaded(text: str) -> tuple[Link, ...]:
    """Reads the text of `dumped`."""
    return unpacked(orjson.loads(text))
