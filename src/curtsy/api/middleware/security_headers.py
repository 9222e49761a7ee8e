"""Headers that tell browsers to trust a response with nothing; on every response, also refusals."""

import base64
import hashlib
from collections.abc import Iterable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

RawHeaders = list[tuple[bytes, bytes]]

STRICT_POLICY = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
PAGE_POLICY = (
    f"{STRICT_POLICY}; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'"
)
"""A page loads its parts from this server only, and has no scripts or styles in its text."""
_ALWAYS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
)
_STARTS = ("http.response.start", "websocket.http.response.start")


class SecurityHeaders:
    """Adds the headers to every response of the app; those that a route has set stay."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] in _STARTS:
                message["headers"] = with_security_headers(message.get("headers", ()))
            await send(message)

        await self._app(scope, receive, send_with_headers)


def with_security_headers(headers: Iterable[tuple[bytes, bytes]]) -> RawHeaders:
    """Responses are not stored by default: most carry data that only the key's user may see."""
    complete = list(headers)
    given = {name.lower(): value for name, value in complete}
    complete += [header for header in _ALWAYS if header[0] not in given]
    if b"cache-control" not in given:
        complete.append((b"cache-control", b"no-store"))
    if b"content-security-policy" not in given:
        is_page = given.get(b"content-type", b"").startswith(b"text/html")
        policy = PAGE_POLICY if is_page else STRICT_POLICY
        complete.append((b"content-security-policy", policy.encode()))
    return complete


def hash_of(text: str) -> str:
    """Returns how a policy names a script or a style that a page has in its text."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
