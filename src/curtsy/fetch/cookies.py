"""Cookies: which of them a response sets, and which of them a request sends.

Some sites redirect every visitor once through a page that sets a cookie, and redirect visitors
without that cookie for ever: one hop of a chain of redirects sets cookies, later hops send them.
They survive from one visit to the next only in the jar of a session.
"""

import re
from collections.abc import Iterable
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import NamedTuple
from urllib.parse import urlsplit

import orjson

from curtsy.fetch.guard import is_address
from curtsy.model.domains import domain_of, is_public_suffix
from curtsy.model.outcome import Reply

MOST_COOKIES = 50
LARGEST_COOKIE = 4_096
LARGEST_HEADER = 8_192

LATEST = 253_370_764_800_000
"""The year 9999: no cookie is kept longer."""
_PAIR = re.compile(r"([!#-+\--:<>-~]+) ?= ?([ !-:<-~]*)")


class Cookie(NamedTuple):
    name: str
    value: str
    host: str
    with_subdomains: bool
    path: str
    secure: bool
    expires_at: int | None = None
    """None: the cookie ends with its session."""

    @property
    def identity(self) -> tuple[str, str, bool, str]:
        """A cookie replaces an earlier one with the same identity."""
        return self.name, self.host, self.with_subdomains, self.path


def load(progress: str | None) -> tuple[Cookie, ...]:
    return tuple(Cookie(*row) for row in orjson.loads(progress)) if progress else ()


def dump(cookies: Iterable[Cookie]) -> str:
    return orjson.dumps([list(cookie) for cookie in cookies]).decode()


def unexpired(cookies: Iterable[Cookie], now: int) -> tuple[Cookie, ...]:
    return tuple(c for c in cookies if c.expires_at is None or c.expires_at > now)


def updated(
    cookies: Iterable[Cookie], reply: Reply, now: int, *, most: int = MOST_COOKIES
) -> tuple[Cookie, ...]:
    """Returns the cookies after this reply set and deleted some."""
    jar = {cookie.identity: cookie for cookie in cookies}
    for line in reply.headers.get("set-cookie", "").split("\n")[:MOST_COOKIES]:
        if len(line) > LARGEST_COOKIE or (read := _read(line, reply.url, now)) is None:
            continue
        cookie, is_unexpired = read
        if _would_replace_secure(cookie, jar.values(), reply.url):
            continue
        jar.pop(cookie.identity, None)
        if is_unexpired:
            jar[cookie.identity] = cookie
    return within(jar.values(), reply.url, most=most)


def within(
    cookies: Iterable[Cookie], url: str, *, most: int, largest: int | None = None
) -> tuple[Cookie, ...]:
    """Returns at most that many of the cookies, which take at most `largest` characters as JSON.
    Those that the host of this URL does not get go first, and of them those of other sites; among
    equals the oldest."""
    jar = tuple(cookies)
    sizes = [len(dump([cookie])) - 1 for cookie in jar] if largest is not None else []
    count, size = len(jar), 1 + sum(sizes)
    if count <= most and (largest is None or size <= largest):
        return jar
    host, gone = urlsplit(url).hostname or "", set()
    for at in sorted(range(len(jar)), key=lambda at: _nearness(jar[at], host)):
        if count <= most and (largest is None or size <= largest):
            break
        gone.add(at)
        count, size = count - 1, size - (sizes[at] if sizes else 0)
    return tuple(cookie for at, cookie in enumerate(jar) if at not in gone)


def _nearness(cookie: Cookie, host: str) -> int:
    """2: the host gets the cookie; 1: another host of the same site does."""
    if _covers(cookie, host):
        return 2
    return int(domain_of(cookie.host) == domain_of(host))


def header(cookies: Iterable[Cookie], url: str) -> str | None:
    """Returns the value of the Cookie header for this URL, longest paths first."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    shown = [c for c in cookies if _is_for(c, parts.scheme, host, parts.path or "/")]
    text = ""
    for cookie in sorted(shown, key=lambda c: -len(c.path)):
        longer = (
            f"{text}; {cookie.name}={cookie.value}" if text else f"{cookie.name}={cookie.value}"
        )
        if len(longer) > LARGEST_HEADER:
            break
        text = longer
    return text or None


def _is_for(cookie: Cookie, scheme: str, host: str, path: str) -> bool:
    if cookie.secure and scheme != "https":
        return False
    if not _covers(cookie, host):
        return False
    return path == cookie.path or path.startswith(f"{cookie.path.rstrip('/')}/")


def _read(line: str, url: str, now: int) -> tuple[Cookie, bool] | None:
    """Returns the cookie and whether it is unexpired: an expired one deletes an earlier cookie."""
    pair, *pieces = line.split(";")
    found = _PAIR.fullmatch(pair.strip())
    if found is None:
        return None
    attributes = {}
    for attribute in pieces:
        name, _, value = attribute.partition("=")
        attributes[name.strip().lower()] = value.strip()
    parts = urlsplit(url)
    host = parts.hostname or ""
    domain = attributes.get("domain", "").lower().removeprefix(".")
    if domain and domain != host and not _is_parent_domain(domain, host):
        return None
    if domain and is_public_suffix(domain):
        domain = ""  # a site at a public suffix sets cookies for itself only
    path = attributes.get("path", "")
    if not path.startswith("/"):
        path = parts.path.rpartition("/")[0] or "/"
    secure = "secure" in attributes
    if secure and parts.scheme != "https":
        return None
    expires_at = _expires_at(attributes, now)
    cookie = Cookie(
        found[1], found[2].strip(), domain or host, bool(domain), path, secure, expires_at
    )
    if not fits_prefix(cookie):
        return None
    return cookie, expires_at is None or expires_at > now


def _is_parent_domain(domain: str, host: str) -> bool:
    """A public suffix is nobody's domain: a cookie for `co.uk` would go to strangers."""
    if not host.endswith(f".{domain}") or is_address(host):
        return False
    return not is_public_suffix(domain)


def fits_prefix(cookie: Cookie) -> bool:
    """The prefixes `__Secure-` and `__Host-` of names promise how the cookie was set."""
    name = cookie.name.lower()
    if name.startswith("__host-"):
        return cookie.secure and not cookie.with_subdomains and cookie.path == "/"
    return cookie.secure or not name.startswith("__secure-")


def _would_replace_secure(cookie: Cookie, others: Iterable[Cookie], url: str) -> bool:
    """A page without encryption must not replace a cookie that was set with it."""
    if cookie.secure or url.startswith("https://"):
        return False
    return any(
        c.secure and c.name == cookie.name and (_covers(c, cookie.host) or _covers(cookie, c.host))
        for c in others
    )


def _covers(cookie: Cookie, host: str) -> bool:
    return host == cookie.host or (cookie.with_subdomains and host.endswith(f".{cookie.host}"))


def _expires_at(attributes: dict[str, str], now: int) -> int | None:
    if re.fullmatch(r"-?[0-9]{1,18}", attributes.get("max-age", "")):
        return min(LATEST, now + int(attributes["max-age"]) * 1_000)
    if expires := attributes.get("expires"):
        try:
            moment = parsedate_to_datetime(expires.replace("-", " "))
            return int(moment.replace(tzinfo=moment.tzinfo or UTC).timestamp() * 1_000)
        except (ValueError, TypeError, IndexError, OverflowError):
            return None
    return None
