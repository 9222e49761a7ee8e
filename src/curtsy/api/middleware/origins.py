"""Pages of strangers in a browser on this machine: they may not speak through it to us.

A page can make its own name lead to our address (DNS rebinding), or send us a form. The first
shows in Host, the second in Origin; programs that are no browsers send neither, or the right one.
"""

import re
from functools import lru_cache, partial
from ipaddress import ip_address

from starlette.types import ASGIApp, Receive, Scope, Send

from curtsy.api.auth.access_rules import AccessRules
from curtsy.api.problems import refuse
from curtsy.errors import NotAllowed

PAIRS_KEPT = 1_024
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
ASKED_WITH = ("Authorization", "Content-Type", "Idempotency-Key", "Last-Event-ID")
ANSWERED_WITH = ("Location", "Retry-After", "Idempotent-Replayed", "WWW-Authenticate")
"""Headers that pages from the origins that are allowed may send, and read."""

_HOST = re.compile(r"(\[(?P<address>[0-9a-f:.]+)\]|(?P<name>[a-z0-9_.-]+))(:[0-9]*)?")


class OriginCheck:
    def __init__(self, app: ASGIApp, access_rules: AccessRules) -> None:
        self._app = app
        self._stranger = lru_cache(PAIRS_KEPT)(partial(stranger, access_rules))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = dict(scope["headers"])
        said = self._stranger(headers.get(b"host"), headers.get(b"origin"))
        if said is None:
            await self._app(scope, receive, send)
        else:
            await refuse(NotAllowed(said), scope, receive, send)


def stranger(access_rules: AccessRules, host: bytes | None, origin: bytes | None) -> str | None:
    """Why the request is refused; None: it is not."""
    called = (host or b"").decode("latin-1").lower()
    if not _is_ours(called, access_rules.hosts):
        return f"This API is not called {called[:100]!r}: CURTSY_ALLOWED_HOSTS names what it is."
    if origin is None or is_same_origin(origin, host):
        return None
    page = origin.decode("latin-1").lower()
    if page in access_rules.origins:
        return None
    return f"Pages of {page[:100]!r} may not use this API: CURTSY_CORS_ORIGINS does not name it."


def is_same_origin(origin: bytes | None, host: bytes | None) -> bool:
    """By name and port. A proxy may speak HTTPS for us, so the scheme is not compared."""
    if origin is None or host is None:
        return False
    return origin.lower().partition(b"://")[2] == host.lower()


def _is_ours(host: str, names: frozenset[str]) -> bool:
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
