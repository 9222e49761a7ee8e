"""The OpenAPI document, completed by what no door says itself: all that can happen before a
request has reached its door."""

from typing import Any

from fastapi import FastAPI
from pydantic.json_schema import models_json_schema

from curtsy.api.auth.middleware import CHANGES_NOTHING, COOKIE
from curtsy.api.auth.permissions import role_needed
from curtsy.api.problems import Problem, problem_responses

Operation = dict[str, Any]

ANYWHERE = (403, 422, 500)
"""A foreign Host or Origin, a NUL in the query, an error of our own."""
WITH_A_KEY = (401, 403, 503)
"""None that holds, one of a role too small, no answer from the store that knows keys."""
WITH_A_BODY = (408, 413)
"""Too slow, too large."""

SCHEMES = {
    "key": {"type": "http", "scheme": "bearer"},
    "cookie": {"type": "apiKey", "in": "cookie", "name": COOKIE},
    "csrf_token": {"type": "apiKey", "in": "header", "name": "X-CSRF-Token"},
}
LOOKS: list[dict[str, list[str]]] = [{"key": []}, {"cookie": []}, {}]
CHANGES: list[dict[str, list[str]]] = [{"key": []}, {"cookie": [], "csrf_token": []}, {}]
"""Without any where nobody is asked."""


def describe(app: FastAPI) -> None:
    _, schemas = models_json_schema(
        [(Problem, "serialization")], ref_template="#/components/schemas/{model}"
    )
    described = app.openapi

    def openapi() -> dict[str, Any]:
        document = described()
        document["components"]["schemas"] |= schemas["$defs"]
        document["components"]["securitySchemes"] = SCHEMES
        document["security"] = LOOKS
        for path, operations in document["paths"].items():
            for method, operation in operations.items():
                _complete(operation, method.upper(), path)
        return document

    app.openapi = openapi  # type: ignore[method-assign]


def _complete(operation: Operation, method: str, path: str) -> None:
    statuses = {*ANYWHERE}
    if role_needed(method, path) is None:
        operation["security"] = []
    else:
        if method not in CHANGES_NOTHING:
            operation["security"] = CHANGES
        statuses |= {*WITH_A_KEY}
    if "requestBody" in operation:
        statuses |= {*WITH_A_BODY}
    made = {str(status): one for status, one in problem_responses(statuses).items()}
    operation["responses"] = dict(sorted((made | operation["responses"]).items()))
