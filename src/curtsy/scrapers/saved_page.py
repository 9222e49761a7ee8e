"""Runs a scraper on a saved page, in this process: for writing and testing scrapers."""

import mimetypes
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from curtsy.model.outcome import Reply
from curtsy.model.urls import canonical
from curtsy.scrapers.custom import Found, Function, declared, scrape
from curtsy.scrapers.page import Page

HTML = "text/html"


def try_on(
    function: Function, saved: str | Path | bytes, *, url: str,
    params: Mapping[str, Any] | None = None, content_type: str | None = None,
) -> Found:  # fmt: skip
    """Returns what the scraper finds on a page from a file or from bytes. Raises `Broken`.

    Runs in this process and without limits: a scraper that never ends blocks the caller.
    """
    own = declared(function)
    if own is None:
        raise ValueError(f"{function!r} is not a scraper: put @scraper before it")
    return scrape(own, Page(saved_reply(saved, url, content_type), params))


def saved_reply(saved: str | Path | bytes, url: str, content_type: str | None = None) -> Reply:
    """Returns a reply as if the page had just been fetched."""
    body = saved if isinstance(saved, bytes) else Path(saved).read_bytes()
    if content_type is None and not isinstance(saved, bytes):
        content_type = mimetypes.guess_type(str(saved))[0]
    headers = {"content-type": content_type or HTML}
    return Reply(200, canonical(url).text, headers, body, len(body))
