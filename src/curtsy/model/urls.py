"""Canonical URLs: one spelling for each page, and the key of its host."""

import hashlib
import re
from binascii import b2a_base64
from typing import NamedTuple

import can_ada

MAX_URL_LENGTH = 8_000
_CONTROL = re.compile(r"[\r\n\t\0]")
DEFAULT_PORTS = {"http:": "80", "https:": "443"}


class BadUrl(ValueError):
    """A URL that cannot or must not be fetched; the text is a predicate that says why."""


class Url(NamedTuple):
    text: str
    """Canonical: parsed as browsers do, query sorted, no fragment, no credentials."""
    host: str
    """The key of its host: the name without `www.`, plus the port unless it is the default."""


def canonical(text: str) -> Url:
    """Parses the URL as browsers do and returns the spelling that identifies the page."""
    url = _parsed(text)
    if "?" in text:
        query = "&".join(sorted(url.search[1:].split("&")))
        url.search = f"?{query}" if query else ""  # else a leading ? of the query is lost
    return Url(url.href, _host_key(url.hostname, url.port))


def as_given(text: str) -> Url:
    """The same for URLs that are not pages (webhooks): the query keeps its order."""
    url = _parsed(text)
    return Url(url.href, _host_key(url.hostname, url.port))


def origin(text: str) -> str:
    """Scheme, host and port of a URL."""
    return str(_parsed(text).origin)


def _parsed(text: str) -> can_ada.URL:
    if len(text) > MAX_URL_LENGTH:
        raise BadUrl(f"is longer than {MAX_URL_LENGTH} characters")
    if _CONTROL.search(text):
        raise BadUrl("contains a control character")
    try:
        url = can_ada.parse(text)
    except (ValueError, TypeError):  # TypeError for half of a surrogate pair
        raise BadUrl("is not a URL") from None
    if url.protocol not in DEFAULT_PORTS:
        raise BadUrl("is neither http nor https")
    if "@" in text and (url.username or url.password):
        raise BadUrl("carries a user name or password")
    if "#" in text:
        url.hash = ""
    return url


def _host_key(hostname: str, port: str) -> str:
    name = hostname.removeprefix("www.").rstrip(".")
    if not name:
        raise BadUrl("has no host")
    return f"{name}:{port}" if port else name


def fingerprint(url: str, scraper: str, options: str = "") -> str:
    """The identity of a page (URL, scraper and options): a 16-byte hash in base64."""
    digest = hashlib.blake2b(f"{url}\0{scraper}\0{options}".encode(), digest_size=16).digest()
    return b2a_base64(digest, newline=False)[:22].decode()
