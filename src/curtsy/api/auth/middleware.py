"""Who is there? Asked of every request before anything else."""

import hmac
from typing import Annotated

from fastapi import Depends
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send

from curtsy.access.sessions import Session
from curtsy.api.auth.authenticator import Authenticator
from curtsy.api.auth.permissions import role_needed
from curtsy.api.auth.stream_access import StreamAccess
from curtsy.api.middleware.origins import is_same_origin
from curtsy.api.problems import refuse
from curtsy.errors import CurtsyError, KeyNeeded, NotAllowed
from curtsy.model.roles import OPEN, Caller

COOKIE = "curtsy_session"
CHANGES_NOTHING = ("GET", "HEAD", "OPTIONS")

Headers = dict[bytes, bytes]


class AuthMiddleware:
    def __init__(self, app: ASGIApp, authenticator: Authenticator) -> None:
        self._app, self._porter = app, authenticator

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._admit(scope)
        except CurtsyError as refused:
            await refuse(refused, scope, receive, send)
            return
        monotonic = self._porter.clock.monotonic
        await self._app(scope, receive, StreamAccess(scope, send, self._admit, monotonic))

    async def _admit(self, scope: Scope) -> None:
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
            holder = await self._porter.holder(key)
            if holder is None:
                raise KeyNeeded
            return holder
        cookie = _cookie(headers)
        session = await self._porter.session(cookie) if cookie else None
        if session is not None:
            _require_our_own_page(scope, headers, session)
            scope.setdefault("state", {})["session"] = session
            return session.caller
        if await self._porter.lets_everyone_in():
            return OPEN
        raise KeyNeeded


def caller_of(connection: HTTPConnection) -> Caller:
    caller: Caller = connection.scope["state"]["caller"]
    return caller


def session_of(connection: HTTPConnection) -> Session | None:
    """That of the cookie with which the caller came, if it was one."""
    session: Session | None = connection.scope["state"].get("session")
    return session


async def _the_caller(connection: HTTPConnection) -> Caller:
    return caller_of(connection)


TheCaller = Annotated[Caller, Depends(_the_caller)]


def _bearer(headers: Headers) -> str | None:
    """Other ways to say who one is are a proxy's business."""
    said = headers.get(b"authorization")
    if said is None:
        return None
    scheme, _, key = said.decode("latin-1").partition(" ")
    return key.strip() if scheme.lower() == "bearer" else None


def _cookie(headers: Headers) -> str | None:
    said = headers.get(b"cookie")
    for part in said.decode("latin-1").split(";") if said is not None else ():
        name, _, value = part.strip().partition("=")
        if name == COOKIE:
            return value
    return None


def _require_our_own_page(scope: Scope, headers: Headers, session: Session) -> None:
    """A browser sends the cookie whoever's page asks for it: that it is ours must show."""
    if scope["type"] == "websocket":
        if not is_same_origin(headers.get(b"origin"), headers.get(b"host")):
            raise NotAllowed("With a cookie, only pages of this API may open a WebSocket.")
    elif scope["method"] not in CHANGES_NOTHING:
        token = headers.get(b"x-csrf-token", b"")
        if not hmac.compare_digest(token, session.csrf.encode()):
            raise NotAllowed("With a cookie, X-CSRF-Token must be what `POST /session` answered.")
