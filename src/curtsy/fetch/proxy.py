"""A proxy of a source, and the proxies that the operator allows although they are not public."""

import re
from base64 import b64encode
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Literal, NamedTuple, cast
from urllib.parse import unquote_to_bytes

from curtsy.errors import BadSetting
from curtsy.fetch.guard import Network, is_address, parse_networks, refusal_by_name

_PROXY = re.compile(
    r"(https?|socks5h?)://(?:([^/?#@:\x00-\x20\x7f-\U0010ffff]+)(?::([^/?#@\x00-\x20\x7f-\U0010ffff]*))?@)?"
    r"(\[[0-9a-f:.]+\]|[0-9a-z._-]+):([0-9]{1,5})/?",
    re.IGNORECASE | re.ASCII,
)


_ADDRESS_AND_PORT = re.compile(r"(\[[0-9a-f:.]+\]|[0-9.]+):([0-9]{1,5})", re.IGNORECASE)


SPELLING = (
    "A proxy must be http://host:port, https://host:port or socks5://host:port, with "
    "user:password@ before the host if it has them."
)
LONGEST_LOGIN = 255


class AllowedProxies(NamedTuple):
    """A network whose addresses may be proxies; on any port if there is none."""

    network: Network
    port: int | None


ProxyKind = Literal["http", "https", "socks5"]


@dataclass(frozen=True, slots=True)
class Proxy:
    host: str
    port: int
    authorization: str | None = field(default=None, repr=False)
    """The value of the Proxy-Authorization header, sent to the proxy only."""
    kind: ProxyKind = "http"
    login: tuple[bytes, bytes] | None = field(default=None, repr=False)
    """User name and password, for SOCKS 5."""

    def __str__(self) -> str:
        return authority(self.host, self.port)


def authority(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def parse_allowed_proxies(text: str) -> tuple[AllowedProxies, ...]:
    """Parses addresses with a port (127.0.0.1:3128) and networks, separated by commas or spaces."""
    allowed = []
    for part in text.replace(",", " ").split():
        found = _ADDRESS_AND_PORT.fullmatch(part)
        port = int(found[2]) if found else None
        if port is not None and not 0 < port < 65_536:
            raise BadSetting(f"{part!r} has no port between 1 and 65535.")
        [network] = parse_networks(found[1].strip("[]") if found else part)
        allowed.append(AllowedProxies(network, port))
    return tuple(allowed)


def networks_for(proxy: Proxy, allowed: tuple[AllowedProxies, ...]) -> tuple[Network, ...]:
    """The networks in which this proxy may be, by its port."""
    return tuple(one.network for one in allowed if one.port in (None, proxy.port))


def refused_proxy(proxy: Proxy, allowed: tuple[AllowedProxies, ...]) -> str | None:
    """Returns why a proxy is refused, as far as its name alone shows."""
    return refusal_by_name(str(proxy), networks_for(proxy, allowed))


@lru_cache(maxsize=1_000)
def parse_proxy(text: str) -> Proxy:
    """Raises `ValueError` with a sentence that never repeats the text: it may have a password."""
    parts = _PROXY.fullmatch(text)
    if parts is None:
        raise ValueError(SPELLING)
    scheme, user, password, host, port = parts.groups()
    if not 0 < int(port) < 65_536:
        raise ValueError("A proxy's port must be between 1 and 65535.")
    if host.startswith("[") and not is_address(host[1:-1]):
        raise ValueError("The text in a proxy's brackets must be an IPv6 address.")
    kind = cast("ProxyKind", scheme.lower().removesuffix("h"))
    proxy = Proxy(host.strip("[]").lower(), int(port), kind=kind)
    if user is None:
        return proxy
    name, secret = unquote_to_bytes(user), unquote_to_bytes(password or "")
    if kind == "socks5":
        return _with_login(proxy, name, secret)
    if b":" in name:
        raise ValueError("The user name of a proxy must not contain a colon.")
    return replace(proxy, authorization=f"Basic {b64encode(name + b':' + secret).decode()}")


def _with_login(proxy: Proxy, name: bytes, secret: bytes) -> Proxy:
    if max(len(name), len(secret)) > LONGEST_LOGIN:
        sentence = "The user name and the password of a SOCKS proxy have at most"
        raise ValueError(f"{sentence} {LONGEST_LOGIN} bytes each.")
    return replace(proxy, login=(name, secret))
