"""Error responses: RFC 9457 problem documents, their HTTP statuses, and their OpenAPI schema.

The one table from curtsy's errors to HTTP statuses is here, and the close codes of WebSockets.
"""

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
"""The first matching class decides; any other `CurtsyError` is a 500."""

NO_KEY, NOT_ALLOWED = 4401, 4403
"""Close codes of WebSockets."""
LONGEST_REASON = 123
"""Bytes; the WebSocket standard allows no more."""

RETRY_AFTER = {
    "Retry-After": {
        "description": "Seconds after which to try again.",
        "schema": {"type": "integer", "minimum": 1},
    }
}

CODES = {404: "not_found", 405: "method_not_allowed", 413: "too_large"}
"""Codes for errors that the framework raises before a route runs."""


class FieldProblem(BaseModel):
    loc: list[str | int]
    """`body`, `query`, `path` or `header`, followed by the path to the field."""
    msg: str
    type: str


class Problem(BaseModel):
    """An error (RFC 9457)."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    """For people: every problem, in sentences."""
    code: str
    """For programs: a stable identifier of the error."""
    errors: list[FieldProblem] = Field(default_factory=list)
    """With 422: each problem with its location."""
    part: str | None = None
    """With 501: the part of curtsy that will provide the operation."""


class BadState(Exception):
    """A `WrongState` where the API contract requires 400 instead of 409."""

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
    # ASCII: an error may quote text that UTF-8 cannot encode
    return Response(json.dumps(body).encode(), status, headers, MEDIA_TYPE)


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Returns the error responses of a route for the OpenAPI document."""
    always = (422, 500, 503)
    return problem_responses({*statuses, *always})


def problem_responses(statuses: Iterable[int]) -> dict[int | str, dict[str, Any]]:
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    responses: dict[int | str, dict[str, Any]] = {
        status: {"description": HTTPStatus(status).phrase, "content": content}
        for status in sorted(statuses)
    }
    for status in responses.keys() & {429, 503}:
        responses[status]["headers"] = RETRY_AFTER
    return responses


def install(app: FastAPI) -> None:
    """Makes the app answer errors with problem documents."""
    app.add_exception_handler(CurtsyError, _curtsy_error)
    app.add_exception_handler(BadState, _bad_state)
    app.add_exception_handler(RequestValidationError, _validation_error)
    app.add_exception_handler(HTTPException, _http_error)


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


async def refuse(error: CurtsyError, scope: Scope, receive: Receive, send: Send) -> None:
    """Sends a problem document, also for a WebSocket: until it is accepted, its handshake is an
    ordinary HTTP request."""
    await problem_of(error)(scope, receive, send)


def close_message(error: KeyNeeded | NotAllowed) -> Message:
    """Returns the message that closes an open WebSocket."""
    code = NO_KEY if isinstance(error, KeyNeeded) else NOT_ALLOWED
    return {"type": "websocket.close", "code": code, "reason": short_reason(str(error))}


def short_reason(sentence: str) -> str:
    """Cuts the sentence to the length that the close of a WebSocket may carry."""
    return sentence.encode(errors="replace")[:LONGEST_REASON].decode(errors="ignore")


async def _curtsy_error(_request: Request, error: Exception) -> Response:
    assert isinstance(error, CurtsyError)
    return problem_of(error)


async def _bad_state(_request: Request, error: Exception) -> Response:
    assert isinstance(error, BadState)
    return problem(400, str(error), error.error.code)


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    code = CODES.get(error.status_code, "refused")
    detail, headers = str(error.detail), dict(error.headers or {})
    if error.status_code == 404:
        detail = f"There is nothing at {request.url.path}."
    elif error.status_code == 405:
        detail = f"{request.method} is not allowed at {request.url.path}."
        headers |= _allow(request)
    return problem(error.status_code, detail, code, headers=headers)


def _allow(request: Request) -> dict[str, str]:
    """Lists the methods of all routes at the path: the framework names only those of the first
    route. A route that raised the error itself has set the header already."""
    routes = [route for route in request.app.router.routes if isinstance(route, Route)]
    matches = [(route, route.matches(request.scope)[0]) for route in routes]
    if any(match is Match.FULL for _route, match in matches):
        return {}
    path = next((route.path for route, match in matches if match is Match.PARTIAL), None)
    methods = {method for route in routes if route.path == path for method in route.methods or ()}
    return {"Allow": ", ".join(sorted(methods))} if methods else {}


async def _validation_error(_request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    errors = [_field_problem(found) for found in error.errors()]
    detail = " ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}." for e in errors)
    return problem(422, detail, BadRequest.code, errors=errors)


def _pattern_problem(field: str) -> str:
    """No regular expression: people send the request."""
    if field == "cursor":
        return "Not a cursor of this list: send the `next_cursor` of the page before as it came"
    return "It has characters that are not allowed here"


def _field_problem(found: Mapping[str, Any]) -> dict[str, Any]:
    """Leaves the input out: it may be large, secret, or not representable in JSON."""
    message = found["msg"]
    if found["type"] == "json_invalid":
        message = f"Not valid JSON ({found['ctx']['error']})"
    elif found["loc"] == ("body",) and isinstance(found.get("input"), bytes):
        message = "The body is not JSON: send it with the header Content-Type: application/json"
    elif found["type"] == "string_pattern_mismatch":
        message = _pattern_problem(str(found["loc"][-1]))
    message = message.removeprefix("Value error, ").rstrip(".")
    return {"loc": list(found["loc"]), "msg": message, "type": found["type"]}
