"""Refuses requests that foreign web pages send through a browser of this machine.

A page can let its own name resolve to our address (DNS rebinding), or post a form to us. The Host
header shows the first, the Origin header the second. Other programs send no Origin, and our Host.
"""

import re
from functools import lru_cache, partial
from ipaddress import ip_address

from starlette.types import ASGIApp, Receive, Scope, Send

from curtsy.api.auth.access_rules import AccessRules
from curtsy.api.problems import refuse
from curtsy.errors import NotAllowed

PAIRS_CACHED = 1_024
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
REQUEST_HEADERS = ("Authorization", "Content-Type", "Idempotency-Key", "Last-Event-ID")
RESPONSE_HEADERS = ("Location", "Retry-After", "Idempotent-Replayed", "WWW-Authenticate")
"""Headers that pages of allowed origins may send, and read."""

_HOST = re.compile(r"(\[(?P<address>[0-9a-f:.]+)\]|(?P<name>[a-z0-9_.-]+))(:[0-9]*)?")


class OriginCheck:
    def __init__(self, app: ASGIApp, access_rules: AccessRules) -> None:
        self._app = app
        self._refusal_reason = lru_cache(PAIRS_CACHED)(partial(refusal_reason, access_rules))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = dict(scope["headers"])
        reason = self._refusal_reason(headers.get(b"host"), headers.get(b"origin"))
        if reason is None:
            await self._app(scope, receive, send)
        else:
            await refuse(NotAllowed(reason), scope, receive, send)


def refusal_reason(
    access_rules: AccessRules, host: bytes | None, origin: bytes | None
) -> str | None:
    """Returns why the request is refused; None: the request is allowed."""
    name = (host or b"").decode("latin-1").lower()
    if not _is_allowed_host(name, access_rules.hosts):
        return f"The host {name[:100]!r} is not allowed: CURTSY_ALLOWED_HOSTS does not name it."
    if origin is None or is_same_origin(origin, host):
        return None
    page = origin.decode("latin-1").lower()
    if page in access_rules.origins:
        return None
    return f"Pages of {page[:100]!r} may not use this API: CURTSY_CORS_ORIGINS does not name it."


def is_same_origin(origin: bytes | None, host: bytes | None) -> bool:
    """Compares name and port, not the scheme: a proxy may terminate HTTPS."""
    if origin is None or host is None:
        return False
    return origin.lower().partition(b"://")[2] == host.lower()


def _is_allowed_host(host: str, names: frozenset[str]) -> bool:
    found = _HOST.fullmatch(host)
    if found is None:
        return False
    name = found["name"] or found["address"]
    return name == "localhost" or name in names or _is_address(name)


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True
