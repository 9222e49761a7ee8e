"""Canonical URLs: one spelling for each page, and the key of its host."""

import hashlib
import re
from binascii import b2a_base64
from typing import NamedTuple
from urllib.parse import quote

import can_ada

MAX_URL_LENGTH = 8_000
_CONTROL = re.compile(r"[\r\n\t\0]")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_FORBIDDEN = re.compile(r"[^!#-;=?-\[\]_a-z~]+")
"""Characters that a URL contains only percent-encoded; browsers leave some of them, such as |."""
# Not after a lone % or % with one digit: the decoded character could make an escape of those.
_ESCAPE = re.compile(r"(?P<lone>(?<=%)|(?<=%[0-9A-Fa-f]))?%([0-9A-Fa-f]{2})")
DEFAULT_PORTS = {"http:": "80", "https:": "443"}


class BadUrl(ValueError):
    """A URL that cannot or must not be fetched; the text is a predicate that says why."""


class Url(NamedTuple):
    text: str
    """Canonical: parsed as browsers do, one spelling of escapes, query sorted, no fragment, no
    credentials."""
    host: str
    """The key of its host: the name without `www.`, plus the port unless it is the default."""


def canonical(text: str) -> Url:
    """Parses the URL as browsers do and returns the spelling that identifies the page."""
    url = _parsed(text)
    whole = spelled(url.href)
    if "?" in whole:
        path, _, query = whole.partition("?")
        query = "&".join(sorted(query.split("&")))
        whole = f"{path}?{query}" if query else path
    return Url(_within_limit(whole), _host_key(url.hostname, url.port))


def as_given(text: str) -> Url:
    """The same for URLs that are not pages (webhooks) or that a host asked for (redirects): the
    query keeps its order, and escapes their spelling."""
    url = _parsed(text)
    return Url(_within_limit(url.href), _host_key(url.hostname, url.port))


def joined(base: str, href: str) -> str:
    """Joins a link to the URL of its page by the URL standard, as browsers do: backslashes are
    slashes, tabs and line breaks are dropped. The result may have any scheme."""
    if len(href) > MAX_URL_LENGTH:
        raise BadUrl(f"is longer than {MAX_URL_LENGTH} characters")
    try:
        return (can_ada.parse(base) + href).href
    except (ValueError, TypeError):  # TypeError for half of a surrogate pair
        raise BadUrl("is not a URL") from None


def spelled(text: str) -> str:
    """Returns one spelling of a URL, a path or a pattern for URLs: unreserved characters stand
    for themselves, all others that are escaped or must be have escapes in upper case. Escapes of
    reserved characters stay (`%2F` is not `/`), as do malformed ones. Idempotent."""
    if _FORBIDDEN.search(text):
        text = _FORBIDDEN.sub(_escaped, text)
    return _ESCAPE.sub(_spelled_escape, text) if "%" in text else text


def _escaped(found: re.Match[str]) -> str:
    return quote(found[0], safe="%", errors="replace")


def _spelled_escape(found: re.Match[str]) -> str:
    character = chr(int(found[2], 16))
    return character if character in _UNRESERVED and found["lone"] is None else found[0].upper()


def _within_limit(text: str) -> str:
    if len(text) > MAX_URL_LENGTH:
        raise BadUrl(f"is longer than {MAX_URL_LENGTH} characters once it is percent-encoded")
    return text


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
