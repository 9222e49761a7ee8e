"""Cookies within one chain of redirects: one hop sets them, later hops send them.

Some sites redirect every visitor once through a page that sets a cookie, and redirect visitors
without that cookie for ever. No cookie survives from one visit to the next.
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
    def identity(self) -> tuple[str, str, bool, str]:
        """A cookie replaces an earlier one with the same identity."""
        return self.name, self.host, self.with_subdomains, self.path


def load(progress: str | None) -> tuple[Cookie, ...]:
    return tuple(Cookie(*row) for row in orjson.loads(progress)) if progress else ()


def dump(cookies: Iterable[Cookie]) -> str:
    return orjson.dumps([list(cookie) for cookie in cookies]).decode()


def updated(cookies: Iterable[Cookie], reply: Reply, now: int) -> tuple[Cookie, ...]:
    """Returns the cookies of the chain after this reply set and deleted some."""
    jar = {cookie.identity: cookie for cookie in cookies}
    for line in reply.headers.get("set-cookie", "").split("\n")[:MOST_COOKIES]:
        if len(line) > LARGEST_COOKIE or (read := _read(line, reply.url, now)) is None:
            continue
        cookie, is_unexpired = read
        jar.pop(cookie.identity, None)
        if is_unexpired:
            jar[cookie.identity] = cookie
    return tuple(jar.values())[-MOST_COOKIES:]


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
    if host != cookie.host and not (cookie.with_subdomains and host.endswith(f".{cookie.host}")):
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
    path = attributes.get("path", "")
    if not path.startswith("/"):
        path = parts.path.rpartition("/")[0] or "/"
    secure = "secure" in attributes
    if secure and parts.scheme != "https":
        return None
    cookie = Cookie(found[1], found[2].strip(), domain or host, bool(domain), path, secure)
    return cookie, _is_unexpired(attributes, now)


def _is_parent_domain(domain: str, host: str) -> bool:
    return "." in domain and host.endswith(f".{domain}") and not is_address(host)


def _is_unexpired(attributes: dict[str, str], now: int) -> bool:
    if re.fullmatch(r"-?[0-9]{1,18}", attributes.get("max-age", "")):
        return int(attributes["max-age"]) > 0
    if expires := attributes.get("expires"):
        try:
            moment = parsedate_to_datetime(expires.replace("-", " "))
        except (ValueError, TypeError, IndexError, OverflowError):
            return True
        at = moment.replace(tzinfo=moment.tzinfo or UTC)
        return at > datetime.fromtimestamp(now / 1000, UTC)
    return True
