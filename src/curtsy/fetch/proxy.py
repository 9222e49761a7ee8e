"""A proxy that the operator configured: its address and credentials."""

import re
from base64 import b64encode
from dataclasses import dataclass, field
from functools import lru_cache
from urllib.parse import unquote_to_bytes

from curtsy.fetch.guard import is_address

_PROXY = re.compile(
    r"http://(?:([^/?#@:\x00-\x20\x7f-\U0010ffff]+)(?::([^/?#@\x00-\x20\x7f-\U0010ffff]*))?@)?"
    r"(\[[0-9a-f:.]+\]|[0-9a-z._-]+):([0-9]{1,5})/?",
    re.IGNORECASE | re.ASCII,
)


@dataclass(frozen=True, slots=True)
class Proxy:
    host: str
    port: int
    authorization: str | None = field(default=None, repr=False)
    """The value of the Proxy-Authorization header, sent to the proxy only."""

    def __str__(self) -> str:
        return authority(self.host, self.port)


def authority(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


@lru_cache(maxsize=1_000)
def parse_proxy(text: str) -> Proxy:
    """Raises `ValueError` with a sentence that never repeats the text: it may have a password."""
    parts = _PROXY.fullmatch(text)
    if parts is None:
        raise ValueError("A proxy must be http://host:port or http://user:password@host:port.")
    user, password, host, port = parts.groups()
    if not 0 < int(port) < 65_536:
        raise ValueError("A proxy's port must be between 1 and 65535.")
    if host.startswith("[") and not is_address(host[1:-1]):
        raise ValueError("The text in a proxy's brackets must be an IPv6 address.")
    if user is None:
        return Proxy(host.strip("[]").lower(), int(port))
    name = unquote_to_bytes(user)
    if b":" in name:
        raise ValueError("The user name of a proxy must not contain a colon.")
    secret = b64encode(name + b":" + unquote_to_bytes(password or "")).decode()
    return Proxy(host.strip("[]").lower(), int(port), f"Basic {secret}")
