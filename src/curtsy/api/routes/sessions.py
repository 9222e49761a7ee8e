"""Sessions for browsers: exchanges a key for a cookie that scripts cannot read."""

from operator import attrgetter
from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from curtsy.access.keys import presented
from curtsy.access.sessions import LIFETIME, Session, cookie_hash
from curtsy.api.auth.authenticator import Authenticator
from curtsy.api.auth.middleware import TheCaller, cookie_name, is_tls, session_of
from curtsy.api.backend import Backend, TheBackend
from curtsy.api.middleware.json_route import JsonRoute
from curtsy.api.problems import problems
from curtsy.clock import SECOND, rfc3339
from curtsy.model.roles import Caller
from curtsy.requests import examples

router = APIRouter(route_class=JsonRoute, generate_unique_id_function=attrgetter("name"))


class KeyGiven(BaseModel):
    """The key to exchange for a cookie."""

    model_config = ConfigDict(
        extra="forbid", strict=True, json_schema_extra=examples.shown(examples.KEY_GIVEN)
    )

    key: str = Field(max_length=200)


class WhoYouAre(BaseModel):
    """The caller, with the role and quotas of the key."""

    user_id: str | None
    """Null where no key is required."""
    role: str
    pages_per_hour: int | None
    open_jobs: int | None
    """Quotas of the key; null: no quota."""
    csrf_token: str | None
    """With a cookie: send this as `X-CSRF-Token` with every request that changes something."""
    expires_at: str | None
    """When the cookie expires."""


async def _authenticator(request: Request) -> Authenticator:
    authenticator: Authenticator = request.app.state.authenticator
    return authenticator


TheAuthenticator = Annotated[Authenticator, Depends(_authenticator)]


@router.post("/session", status_code=201, responses=problems(401, 429, 507))
async def open_session(
    body: KeyGiven,
    request: Request,
    response: Response,
    backend: TheBackend,
    authenticator: TheAuthenticator,
) -> WhoYouAre:
    """Exchange a key for a session cookie that is valid for twelve hours."""
    key = body.key.strip()
    opened = None
    if await authenticator.caller_of_key(key) is not None:  # wrong keys cost no transaction
        opened = await _opened_session(backend, key)
    if opened is None:
        address = request.client.host if request.client else ""
        authenticator.failed_attempts.refuse(address, backend.clock)
    session, cookie = opened
    response.set_cookie(
        cookie_name(request.scope), cookie, max_age=LIFETIME // SECOND, httponly=True,
        samesite="strict", secure=is_tls(request.scope),
    )  # fmt: skip
    return _who(session.caller, session, response)


@router.get("/session", responses=problems(401))
async def get_session(request: Request, response: Response, caller: TheCaller) -> WhoYouAre:
    """The user and role of the key or cookie that the request carries."""
    return _who(caller, session_of(request), response)


@router.delete("/session", status_code=204, responses=problems(401, 403, 507))
async def close_session(
    request: Request, backend: TheBackend, authenticator: TheAuthenticator
) -> Response:
    """End the session of the cookie."""
    name = cookie_name(request.scope)
    cookie = request.cookies.get(name)
    if cookie is not None:
        await backend.close_session(cookie_hash(cookie))
        authenticator.forget_cookie(cookie)
    response = Response(status_code=204)
    secure = is_tls(request.scope)
    response.delete_cookie(name, httponly=True, samesite="strict", secure=secure)
    return response


async def _opened_session(backend: Backend, key: str) -> tuple[Session, str] | None:
    """None: the key is not valid any more."""
    parsed = presented(key)
    return await backend.open_session(parsed) if parsed is not None else None


def _who(caller: Caller, session: Session | None, response: Response) -> WhoYouAre:
    response.headers["Cache-Control"] = "no-store"
    return WhoYouAre(
        user_id=caller.user_id, role=caller.role.word, pages_per_hour=caller.pages_per_hour,
        open_jobs=caller.open_jobs, csrf_token=session.csrf if session else None,
        expires_at=rfc3339(session.expires_at) if session else None,
    )  # fmt: skip
