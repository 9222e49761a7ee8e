"""Authenticates every request and checks its role before a route runs."""

import hmac
from functools import partial
from typing import Annotated

from fastapi import Depends
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send

from curtsy.access.sessions import Session
from curtsy.api.auth.authenticator import Authenticator
from curtsy.api.auth.open_streams import OPEN as OPEN_STREAM
from curtsy.api.auth.open_streams import OpenStreams
from curtsy.api.auth.permissions import role_needed
from curtsy.api.auth.stream_access import StreamAccess
from curtsy.api.middleware.origins import is_same_origin
from curtsy.api.problems import refuse
from curtsy.errors import CurtsyError, KeyNeeded, NotAllowed
from curtsy.model.roles import OPEN, Caller

COOKIE, TLS_COOKIE = "curtsy_session", "__Host-curtsy_session"
"""Browsers take a cookie with the prefix `__Host-` only over TLS and from this very host, so that
no other host of the domain can plant one."""
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")

Headers = dict[bytes, bytes]


class AuthMiddleware:
    def __init__(self, app: ASGIApp, authenticator: Authenticator, streams_per_key: int) -> None:
        self._app, self._authenticator = app, authenticator
        self._streams = OpenStreams(
            self._authorise, authenticator.forget_all, most_per_key=streams_per_key
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._authorise(scope)
        except CurtsyError as error:
            await refuse(error, scope, receive, send)
            return
        monotonic = self._authenticator.clock.monotonic
        access = StreamAccess(scope, send, self._authorise, monotonic)
        scope.setdefault("state", {})[OPEN_STREAM] = partial(self._streams.add, access)
        try:
            await self._app(scope, receive, access)
        finally:
            self._streams.remove(access)

    async def _authorise(self, scope: Scope) -> None:
        needed = role_needed(scope.get("method", "GET"), scope["path"])
        if needed is None:
            return
        caller = await self._caller(scope, dict(scope["headers"]))
        if caller.role < needed:
            raise NotAllowed(f"This needs the role {needed.word}; your key has {caller.role.word}.")
        scope.setdefault("state", {})["caller"] = caller

    async def _caller(self, scope: Scope, headers: Headers) -> Caller:
        key = _bearer(headers)
        if key is not None:
            caller = await self._authenticator.caller_of_key(key)
            if caller is None:
                raise KeyNeeded
            return caller
        cookie = _cookie(headers, cookie_name(scope))
        session = await self._authenticator.session_of_cookie(cookie) if cookie else None
        if session is not None:
            _require_own_page(scope, headers, session)
            scope.setdefault("state", {})["session"] = session
            return session.caller
        if await self._authenticator.allows_anonymous(scope):
            return OPEN
        raise KeyNeeded


def caller_of(connection: HTTPConnection) -> Caller:
    caller: Caller = connection.scope["state"]["caller"]
    return caller


def session_of(connection: HTTPConnection) -> Session | None:
    """Returns the session of the request's cookie; None if the request has no session cookie."""
    session: Session | None = connection.scope["state"].get("session")
    return session


def is_tls(scope: Scope) -> bool:
    """Whether the client speaks TLS, to this server or to a proxy that says so and is trusted."""
    return scope["scheme"] in ("https", "wss")


def cookie_name(scope: Scope) -> str:
    return TLS_COOKIE if is_tls(scope) else COOKIE


async def _the_caller(connection: HTTPConnection) -> Caller:
    return caller_of(connection)


TheCaller = Annotated[Caller, Depends(_the_caller)]


def _bearer(headers: Headers) -> str | None:
    """Ignores other authentication schemes: they are meant for a proxy."""
    header = headers.get(b"authorization")
    if header is None:
        return None
    scheme, _, key = header.decode("latin-1").partition(" ")
    return key.strip() if scheme.lower() == "bearer" else None


def _cookie(headers: Headers, wanted: str) -> str | None:
    header = headers.get(b"cookie")
    for part in header.decode("latin-1").split(";") if header is not None else ():
        name, _, value = part.strip().partition("=")
        if name == wanted:
            return value
    return None


def _require_own_page(scope: Scope, headers: Headers, session: Session) -> None:
    """A browser sends the cookie with requests from any page. Requires proof that the page is one
    of this API: the Origin for WebSockets, the CSRF token for requests that change something."""
    if scope["type"] == "websocket":
        if not is_same_origin(headers.get(b"origin"), headers.get(b"host")):
            raise NotAllowed("With a cookie, only pages of this API may open a WebSocket.")
    elif scope["method"] not in SAFE_METHODS:
        token = headers.get(b"x-csrf-token", b"")
        if not hmac.compare_digest(token, session.csrf.encode()):
            raise NotAllowed("With a cookie, X-CSRF-Token must be what `POST /session` returned.")
