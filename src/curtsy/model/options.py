"""How a page is asked for, where that is not the usual way: part of what makes it that page."""

from collections.abc import Iterable

import orjson

from curtsy.model.urls import canonical


def with_headers(headers: Iterable[tuple[str, str]], host: str) -> str:
    """As it is stored with the page."""
    return orjson.dumps({"headers": list(headers), "host": host}).decode()


def headers_for(options: str | None, url: str) -> tuple[tuple[str, str], ...]:
    """Those to send to this URL: a page that moved to another host takes none along."""
    if options is None:
        return ()
    said = orjson.loads(options)
    if canonical(url).host != said["host"]:
        return ()
    return tuple((name, value) for name, value in said["headers"])
