"""Errors as RFC 9457 problem documents. The one table from our errors to HTTP statuses."""

import json
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.routing import Match, Route
from starlette.types import Message, Receive, Scope, Send

from curtsy.errors import (
    BadRequest,
    CurtsyError,
    KeyNeeded,
    NotAllowed,
    NotFound,
    OverLimit,
    Refused,
    StoreAway,
    StoreFull,
    WrongState,
)
from curtsy.logs import logger

log = logger("api")

MEDIA_TYPE = "application/problem+json"
STORE_AWAY_RETRY_SECONDS = 2

STATUSES: tuple[tuple[type[CurtsyError], int], ...] = (
    (BadRequest, 422),
    (NotFound, 404),
    (WrongState, 409),
    (KeyNeeded, 401),
    (NotAllowed, 403),
    (Refused, 422),
    (OverLimit, 429),
    (StoreAway, 503),
    (StoreFull, 507),
)
"""The first that fits counts; any other error of ours is a 500."""

RETRY_AFTER = {
    "Retry-After": {
        "description": "Seconds after which to ask again.",
        "schema": {"type": "integer", "minimum": 1},
    }
}

CODES = {404: "not_found", 405: "method_not_allowed", 413: "too_large"}
"""Of what the framework refuses before a door is reached."""


class FieldProblem(BaseModel):
    loc: list[str | int]
    """Where: `body`, `query`, `path` or `header`, then the names on the way."""
    msg: str
    type: str


class Problem(BaseModel):
    """What went wrong (RFC 9457)."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    """Sentences for people: every problem at once."""
    code: str
    """A stable word for programs."""
    errors: list[FieldProblem] = Field(default_factory=list)
    """Of a 422: each problem and where it is."""
    part: str | None = None
    """Of a 501: the part of curtsy that brings it."""


class BadState(Exception):
    """A wrong state where the door's document says 400."""

    def __init__(self, error: WrongState) -> None:
        self.error = error
        super().__init__(str(error))


def problem(
    status: int,
    detail: str,
    code: str,
    *,
    headers: Mapping[str, str] | None = None,
    errors: list[dict[str, Any]] | None = None,
    part: str | None = None,
) -> Response:
    body: dict[str, Any] = {
        "type": "about:blank", "title": HTTPStatus(status).phrase, "status": status,
        "detail": detail, "code": code,
    }  # fmt: skip
    if errors:
        body["errors"] = errors
    if part:
        body["part"] = part
    # ASCII: an error may quote text that no UTF-8 can carry
    return Response(json.dumps(body).encode(), status, headers, MEDIA_TYPE)


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """For the OpenAPI document of an endpoint: the problems that it may answer with."""
    always = (422, 500, 503)
    return problem_responses({*statuses, *always})


def problem_responses(statuses: Iterable[int]) -> dict[int | str, dict[str, Any]]:
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    made: dict[int | str, dict[str, Any]] = {
        status: {"description": HTTPStatus(status).phrase, "content": content}
        for status in sorted(statuses)
    }
    for status in made.keys() & {429, 503}:
        made[status]["headers"] = RETRY_AFTER
    return made


def install(app: FastAPI) -> None:
    """Answer with problem documents."""
    app.add_exception_handler(CurtsyError, _ours)
    app.add_exception_handler(BadState, _bad_state)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)


async def _ours(_request: Request, error: Exception) -> Response:
    assert isinstance(error, CurtsyError)
    return problem_of(error)


def problem_of(error: CurtsyError) -> Response:
    status = next((status for kind, status in STATUSES if isinstance(error, kind)), 500)
    if status == 500:
        log.error("request_failed", code=error.code, error=str(error))
    headers = {}
    if isinstance(error, OverLimit):
        headers["Retry-After"] = str(error.retry_after_seconds)
    if isinstance(error, StoreAway):
        headers["Retry-After"] = str(STORE_AWAY_RETRY_SECONDS)
    if isinstance(error, KeyNeeded):
        headers["WWW-Authenticate"] = "Bearer"
    return problem(status, str(error), error.code, headers=headers)


async def _bad_state(_request: Request, error: Exception) -> Response:
    assert isinstance(error, BadState)
    return problem(400, str(error), error.error.code)


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    code = CODES.get(error.status_code, "refused")
    detail, headers = str(error.detail), dict(error.headers or {})
    if error.status_code == 404:
        detail = f"There is nothing at {request.url.path}."
    elif error.status_code == 405:
        detail = f"{request.method} does not work at {request.url.path}."
        headers |= _allow(request)
    return problem(error.status_code, detail, code, headers=headers)


def _allow(request: Request) -> dict[str, str]:
    """All that works there: what the framework says is what the first of several routes knows. A
    door that refused by itself has said it already."""
    routes = [route for route in request.app.router.routes if isinstance(route, Route)]
    fits = [(route, route.matches(request.scope)[0]) for route in routes]
    if any(match is Match.FULL for _route, match in fits):
        return {}
    path = next((route.path for route, match in fits if match is Match.PARTIAL), None)
    known = {method for route in routes if route.path == path for method in route.methods or ()}
    return {"Allow": ", ".join(sorted(known))} if known else {}


async def _invalid(_request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    errors = [_field_problem(found) for found in error.errors()]
    detail = " ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}." for e in errors)
    return problem(422, detail, BadRequest.code, errors=errors)


def _field_problem(found: Mapping[str, Any]) -> dict[str, Any]:
    """Without the input: it may be large, secret, or nothing that JSON can say."""
    message = found["msg"]
    if found["type"] == "json_invalid":
        message = f"Not valid JSON ({found['ctx']['error']})"
    elif found["loc"] == ("body",) and isinstance(found.get("input"), bytes):
        message = "The body is not JSON: send it with the header Content-Type: application/json"
    message = message.removeprefix("Value error, ").rstrip(".")
    return {"loc": list(found["loc"]), "msg": message, "type": found["type"]}


NO_KEY, NOT_ALLOWED = 4401, 4403
LONGEST_REASON = 123
"""Bytes, by the standard."""


async def refuse(error: CurtsyError, scope: Scope, receive: Receive, send: Send) -> None:
    """With a problem document, also where a WebSocket was asked for: before that is opened it is
    a request as any other, and its answer has a status."""
    await problem_of(error)(scope, receive, send)


def closing(error: KeyNeeded | NotAllowed) -> Message:
    """Of a WebSocket that is open."""
    code = NO_KEY if isinstance(error, KeyNeeded) else NOT_ALLOWED
    return {"type": "websocket.close", "code": code, "reason": in_short(str(error))}


def in_short(sentence: str) -> str:
    """As much of the sentence as a closing WebSocket may say."""
    return sentence.encode(errors="replace")[:LONGEST_REASON].decode(errors="ignore")
