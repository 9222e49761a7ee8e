"""Browsers: a key once, then a cookie that no script can read."""

from operator import attrgetter
from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from curtsy.access.keys import presented
from curtsy.access.sessions import LIFETIME, Session, cookie_hash
from curtsy.api.auth.authenticator import Authenticator
from curtsy.api.auth.middleware import COOKIE, TheCaller, session_of
from curtsy.api.backend import TheBackend
from curtsy.api.middleware.json_route import JsonRoute
from curtsy.api.problems import problems
from curtsy.clock import SECOND, rfc3339
from curtsy.errors import KeyNeeded
from curtsy.model.roles import Caller
from curtsy.requests import examples

router = APIRouter(route_class=JsonRoute, generate_unique_id_function=attrgetter("name"))


class KeyGiven(BaseModel):
    model_config = ConfigDict(
        extra="forbid", strict=True, json_schema_extra=examples.shown(examples.KEY_GIVEN)
    )

    key: str = Field(max_length=200)


class WhoYouAre(BaseModel):
    user_id: str | None
    """Null while nobody is asked for a key."""
    role: str
    pages_per_hour: int | None
    open_jobs: int | None
    """Quotas of the key, if it has some."""
    csrf_token: str | None
    """With a cookie: to be sent as `X-CSRF-Token` with all that changes something."""
    expires_at: str | None
    """Of the cookie."""


async def _porter(request: Request) -> Authenticator:
    authenticator: Authenticator = request.app.state.authenticator
    return authenticator


ThePorter = Annotated[Authenticator, Depends(_porter)]


@router.post("/session", status_code=201, responses=problems(401, 429, 507))
async def open_session(
    given: KeyGiven,
    request: Request,
    response: Response,
    backend: TheBackend,
    authenticator: ThePorter,
) -> WhoYouAre:
    """Exchange a key for a cookie, for twelve hours."""
    address = request.client.host if request.client else ""
    async with authenticator.wrong_keys.one_try(address, backend.clock):
        key = presented(given.key.strip())
        opened = await backend.open_session(key) if key is not None else None
        if opened is None:
            raise KeyNeeded
    session, cookie = opened
    response.set_cookie(
        COOKIE, cookie, max_age=LIFETIME // SECOND, httponly=True, samesite="strict",
        secure=request.url.scheme == "https",
    )  # fmt: skip
    return _who(session.caller, session, response)


@router.get("/session", responses=problems(401))
async def get_session(request: Request, response: Response, caller: TheCaller) -> WhoYouAre:
    """Whose key or cookie this is."""
    return _who(caller, session_of(request), response)


@router.delete("/session", status_code=204, responses=problems(401, 403, 507))
async def close_session(
    request: Request, backend: TheBackend, authenticator: ThePorter
) -> Response:
    """End the cookie's session."""
    cookie = request.cookies.get(COOKIE)
    if cookie is not None:
        await backend.close_session(cookie_hash(cookie))
        authenticator.forget(cookie)
    response = Response(status_code=204)
    response.delete_cookie(COOKIE, httponly=True, samesite="strict")
    return response


def _who(caller: Caller, session: Session | None, response: Response) -> WhoYouAre:
    response.headers["Cache-Control"] = "no-store"
    return WhoYouAre(
        user_id=caller.user_id, role=caller.role.word, pages_per_hour=caller.pages_per_hour,
        open_jobs=caller.open_jobs, csrf_token=session.csrf if session else None,
        expires_at=rfc3339(session.expires_at) if session else None,
    )  # fmt: skip
