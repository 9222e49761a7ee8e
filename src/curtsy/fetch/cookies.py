"""Cookies within one chain of redirects: a hop sets them, later hops are shown them, then they go.

Some sites send everybody once around through a page that sets a cookie, and for ever who comes
back without it. Nothing is kept from one visit to the next.
"""

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import NamedTuple
from urllib.parse import urlsplit

import orjson

from curtsy.fetch.guard import is_address
from curtsy.model.outcome import Reply

MOST_COOKIES = 50
LARGEST_COOKIE = 4_096
LARGEST_HEADER = 8_192

_PAIR = re.compile(r"([!#-+\--:<>-~]+) ?= ?([ !-:<-~]*)")


class Cookie(NamedTuple):
    name: str
    value: str
    host: str
    with_subdomains: bool
    path: str
    secure: bool

    @property
    def place(self) -> tuple[str, str, bool, str]:
        """One with the same place takes its place."""
        return self.name, self.host, self.with_subdomains, self.path


def carried(progress: str | None) -> tuple[Cookie, ...]:
    return tuple(Cookie(*row) for row in orjson.loads(progress)) if progress else ()


def to_carry(cookies: Iterable[Cookie]) -> str:
    return orjson.dumps([list(cookie) for cookie in cookies]).decode()


def after(cookies: Iterable[Cookie], reply: Reply, now: int) -> tuple[Cookie, ...]:
    """What the chain carries on: what it had, with what this answer sets and takes away."""
    jar = {cookie.place: cookie for cookie in cookies}
    for line in reply.headers.get("set-cookie", "").split("\n")[:MOST_COOKIES]:
        if len(line) > LARGEST_COOKIE or (read := _read(line, reply.url, now)) is None:
            continue
        cookie, lives = read
        jar.pop(cookie.place, None)
        if lives:
            jar[cookie.place] = cookie
    return tuple(jar.values())[-MOST_COOKIES:]


def header(cookies: Iterable[Cookie], url: str) -> str | None:
    """The value of the Cookie header for this URL, longest paths first."""
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
    if host != cookie.host and not (cookie.with_subdomains and host.endswith(f".{cookie.host}")):
        return False
    return path == cookie.path or path.startswith(f"{cookie.path.rstrip('/')}/")


def _read(line: str, url: str, now: int) -> tuple[Cookie, bool] | None:
    """The cookie, and whether it lives: one that is over takes an earlier one away."""
    pair, *attributes = line.split(";")
    found = _PAIR.fullmatch(pair.strip())
    if found is None:
        return None
    said = {}
    for attribute in attributes:
        name, _, value = attribute.partition("=")
        said[name.strip().lower()] = value.strip()
    parts = urlsplit(url)
    host = parts.hostname or ""
    domain = said.get("domain", "").lower().removeprefix(".")
    if domain and domain != host and not _is_above(domain, host):
        return None
    path = said.get("path", "")
    if not path.startswith("/"):
        path = parts.path.rpartition("/")[0] or "/"
    secure = "secure" in said
    if secure and parts.scheme != "https":
        return None
    cookie = Cookie(found[1], found[2].strip(), domain or host, bool(domain), path, secure)
    return cookie, _lives(said, now)


def _is_above(domain: str, host: str) -> bool:
    return "." in domain and host.endswith(f".{domain}") and not is_address(host)


def _lives(said: dict[str, str], now: int) -> bool:
    if re.fullmatch(r"-?[0-9]{1,18}", said.get("max-age", "")):
        return int(said["max-age"]) > 0
    if expires := said.get("expires"):
        try:
            moment = parsedate_to_datetime(expires.replace("-", " "))
        except (ValueError, TypeError, IndexError, OverflowError):
            return True
        at = moment.replace(tzinfo=moment.tzinfo or UTC)
        return at > datetime.fromtimestamp(now / 1000, UTC)
    return True
