"""A scraper on a saved page, here and now: for tests, and for writing one."""

import mimetypes
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from curtsy.model.outcome import Reply
from curtsy.model.urls import canonical
from curtsy.scrapers.custom import Found, Function, declared, found_by
from curtsy.scrapers.page import Page

HTML = "text/html"


def try_on(
    function: Function, saved: str | Path | bytes, *, url: str,
    params: Mapping[str, Any] | None = None, content_type: str | None = None,
) -> Found:  # fmt: skip
    """What it finds on a page that is in a file, or given as bytes. Raises `Broken` as it does.

    Within this process and without any limit: a scraper that never ends does not end here either.
    """
    own = declared(function)
    if own is None:
        raise ValueError(f"{function!r} is no scraper: put @scraper before it")
    return found_by(own, Page(saved_reply(saved, url, content_type), params))


def saved_reply(saved: str | Path | bytes, url: str, content_type: str | None = None) -> Reply:
    """As if the page had just been fetched."""
    body = saved if isinstance(saved, bytes) else Path(saved).read_bytes()
    if content_type is None and not isinstance(saved, bytes):
        content_type = mimetypes.guess_type(str(saved))[0]
    headers = {"content-type": content_type or HTML}
    return Reply(200, canonical(url).text, headers, body, len(body))
