"""A page's options: headers, scraper parameters and flags. They are part of the page's identity."""

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from functools import lru_cache
from typing import Any

import orjson

from curtsy.model.origins import may_follow
from curtsy.model.page_body import PageBody

OUR_OWN_HEADERS = frozenset({
    "host", "connection", "content-length", "transfer-encoding", "te", "trailer", "upgrade",
    "expect", "keep-alive", "proxy-connection", "proxy-authorization", "accept-encoding",
    "if-none-match", "if-modified-since", "if-match", "if-range", "range", "cookie",
})  # fmt: skip
"""Headers that curtsy itself sends or omits."""

MOST_PARAMS_BYTES = 32 * 1024
"""The parameters are stored with every page that has them."""


class Way(StrEnum):
    """A flag that changes how a page is processed."""

    CHOSEN_LINKS = "chosen_links"
    """The crawl follows only the links that the page's scraper returns."""
    MAY_BE_MISSING = "may_be_missing"
    """A numbered page of a listing: if it does not exist, the listing has ended before it. A
    feed or sitemap that was guessed: if it does not exist, or is something else, it is empty."""


_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")
_VALUE = re.compile(r"[ -~\t]{0,4000}")


def checked_headers(given: dict[str, str]) -> dict[str, str]:
    for name, value in given.items():
        if not _TOKEN.fullmatch(name) or not _VALUE.fullmatch(value):
            raise ValueError(f"{name[:100]!r} is not a header that can be sent")
        if name.lower() in OUR_OWN_HEADERS:
            raise ValueError(f"{name} is a header that curtsy itself sends or omits")
    return given


class BadParams(ValueError):
    """Scraper parameters that cannot be stored; the text is a sentence."""


def checked_params(given: Mapping[str, Any], most: int = MOST_PARAMS_BYTES) -> Mapping[str, Any]:
    """Returns the parameters, or raises BadParams if they are not JSON or too large to store."""
    try:
        size = len(_canonical(given))
    except TypeError as error:
        raise BadParams(f"The scraper's parameters are not JSON: {error}.") from None
    if size > most:
        sentence = f"The scraper's parameters take {size} bytes; at most {most} may be"
        raise BadParams(f"{sentence} used, since they are stored with every page.")
    return given


def options_for(
    host: str, *, headers: Iterable[tuple[str, str]] = (), params: Mapping[str, Any] | None = None,
    ways: Iterable[str] = (), session: str | None = None, body: PageBody | None = None,
) -> str | None:  # fmt: skip
    """The options as JSON, for storage; None: there are none. Parameters keep their order, which
    is that of a recipe's fields."""
    options: dict[str, Any] = {}
    if sent := list(headers):
        options |= {"headers": sent, "host": host}
    if params:
        options["params"] = params
    if flags := sorted(ways):
        options["ways"] = flags
    if session is not None:  # what a session fetches is nobody else's
        options["session"] = session
    if body is not None:
        options |= body.stored()
    return orjson.dumps(options).decode() if options else None


@lru_cache(maxsize=32)
def identity_of(options: str | None) -> str:
    """What the options add to the identity of a page: the same whatever their order."""
    return _canonical(orjson.loads(options)).decode() if options else ""


def headers_for(
    options: str | None, url: str, *, page_url: str | None = None
) -> tuple[tuple[str, str], ...]:
    """The headers to send to this URL. `page_url` is the page's own URL, if the page moved: only
    its origin gets the headers, and the same origin with https in place of http."""
    if options is None or (page_url is not None and not may_follow(url, from_url=page_url)):
        return ()
    return tuple((name, value) for name, value in orjson.loads(options).get("headers", ()))


def params_of(options: str | None) -> dict[str, Any]:
    """The parameters for the scraper."""
    found: dict[str, Any] = orjson.loads(options).get("params", {}) if options is not None else {}
    return found


def ways_of(options: str | None) -> frozenset[str]:
    return frozenset(orjson.loads(options).get("ways", ())) if options is not None else frozenset()


def session_of(options: str | None) -> str | None:
    """The name of the session that the page is fetched in; None: it has none."""
    if options is None or '"session"' not in options:
        return None
    name: str | None = orjson.loads(options).get("session")
    return name


def _canonical(options: Mapping[str, Any]) -> bytes:
    return orjson.dumps(options, option=orjson.OPT_SORT_KEYS)
