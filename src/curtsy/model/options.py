"""How a page is asked for, where that is not the usual way: part of what makes it that page."""

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any

import orjson

from curtsy.model.urls import canonical

OUR_OWN_HEADERS = frozenset({
    "host", "connection", "content-length", "transfer-encoding", "te", "trailer", "upgrade",
    "expect", "keep-alive", "proxy-connection", "proxy-authorization", "accept-encoding",
    "if-none-match", "if-modified-since", "if-match", "if-range", "range", "cookie",
})  # fmt: skip
"""What we send or leave out ourselves."""

MOST_PARAMS_BYTES = 32 * 1024
"""They are kept with every page that is asked for with them."""


class Way(StrEnum):
    """How a page is taken, where that is not the usual way."""

    CHOSEN_LINKS = "chosen_links"
    """It leads where its scraper says, and nowhere else."""
    MAY_BE_MISSING = "may_be_missing"
    """A page of a listing that is counted: if there is none, the listing ended before it."""


_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")
_VALUE = re.compile(r"[ -~\t]{0,4000}")


def checked_headers(given: dict[str, str]) -> dict[str, str]:
    for name, value in given.items():
        if not _TOKEN.fullmatch(name) or not _VALUE.fullmatch(value):
            raise ValueError(f"{name[:100]!r} is not a header that can be sent")
        if name.lower() in OUR_OWN_HEADERS:
            raise ValueError(f"{name} is sent, or left out, by curtsy itself")
    return given


class BadParams(ValueError):
    """Parameters that cannot go with a page; the text is a sentence."""


def checked_params(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Those that can be stored with every page: JSON, and not too much of it."""
    try:
        size = len(_canonical(given))
    except TypeError as error:
        raise BadParams(f"The scraper's parameters are not JSON: {error}.") from None
    if size > MOST_PARAMS_BYTES:
        sentence = f"The scraper's parameters take {size} bytes; at most {MOST_PARAMS_BYTES} may be"
        raise BadParams(f"{sentence}, since they are kept with every page.")
    return given


def options_for(
    host: str, *, headers: Iterable[tuple[str, str]] = (), params: Mapping[str, Any] | None = None,
    ways: Iterable[str] = (),
) -> str | None:  # fmt: skip
    """As it is stored with the page, in one spelling; None: it is asked for in the usual way."""
    said: dict[str, Any] = {}
    if sent := list(headers):
        said |= {"headers": sent, "host": host}
    if params:
        said["params"] = params
    if taken := sorted(ways):
        said["ways"] = taken
    return _canonical(said).decode() if said else None


def headers_for(options: str | None, url: str) -> tuple[tuple[str, str], ...]:
    """Those to send to this URL: a page that moved to another host takes none along."""
    if options is None:
        return ()
    said = orjson.loads(options)
    if canonical(url).host != said.get("host"):
        return ()
    return tuple((name, value) for name, value in said["headers"])


def params_of(options: str | None) -> dict[str, Any]:
    """What the scraper is told beside the page."""
    found: dict[str, Any] = orjson.loads(options).get("params", {}) if options is not None else {}
    return found


def ways_of(options: str | None) -> frozenset[str]:
    return frozenset(orjson.loads(options).get("ways", ())) if options is not None else frozenset()


def _canonical(said: Mapping[str, Any]) -> bytes:
    return orjson.dumps(said, option=orjson.OPT_SORT_KEYS)
