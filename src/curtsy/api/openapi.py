"""Completes the OpenAPI document with what happens before a route: authentication, the errors of
the middleware, and the security schemes."""

from typing import Any

from fastapi import FastAPI
from pydantic.json_schema import models_json_schema

from curtsy.api.auth.middleware import COOKIE, SAFE_METHODS, TLS_COOKIE
from curtsy.api.auth.permissions import role_needed
from curtsy.api.problems import Problem, problem_responses
from curtsy.reports.report import json_schemas

Operation = dict[str, Any]

ALWAYS = (403, 422, 500)
"""A foreign Host or Origin, a NUL in the query, an internal error."""
WITH_A_KEY = (401, 403, 503)
"""No valid key, a role that is too low, no answer from the store that knows the keys."""
WITH_A_BODY = (408, 413, 429)
"""Too slow, too large, too many at once from one client."""

REFERENCE = "#/components/schemas/{model}"
SCHEMES = {
    "key": {"type": "http", "scheme": "bearer"},
    "cookie": {
        "type": "apiKey",
        "in": "cookie",
        "name": COOKIE,
        "description": f"Over TLS its name is `{TLS_COOKIE}`.",
    },
    "csrf_token": {"type": "apiKey", "in": "header", "name": "X-CSRF-Token"},
}
TO_READ: list[dict[str, list[str]]] = [{"key": []}, {"cookie": []}, {}]
TO_CHANGE: list[dict[str, list[str]]] = [{"key": []}, {"cookie": [], "csrf_token": []}, {}]
"""The empty alternative: an installation may allow requests without a key."""


def complete_openapi(app: FastAPI) -> None:
    _, schemas = models_json_schema([(Problem, "serialization")], ref_template=REFERENCE)
    generate = app.openapi

    def openapi() -> dict[str, Any]:
        document, of_reports = generate(), json_schemas(REFERENCE)
        found = document["components"]["schemas"]
        both = found.keys() & of_reports.keys()
        assert all(found[name] == of_reports[name] for name in both), "one name for two schemas"
        document["components"]["schemas"] = found | schemas["$defs"] | of_reports
        document["components"]["securitySchemes"] = SCHEMES
        document["security"] = TO_READ
        for path, operations in document["paths"].items():
            for method, operation in operations.items():
                _complete(operation, method.upper(), path)
        return document

    app.openapi = openapi  # type: ignore[method-assign]


def _complete(operation: Operation, method: str, path: str) -> None:
    statuses = {*ALWAYS}
    if role_needed(method, path) is None:
        operation["security"] = []
    else:
        if method not in SAFE_METHODS:
            operation["security"] = TO_CHANGE
        statuses |= {*WITH_A_KEY}
    if "requestBody" in operation:
        statuses |= {*WITH_A_BODY}
    added = {str(status): response for status, response in problem_responses(statuses).items()}
    operation["responses"] = dict(sorted((added | operation["responses"]).items()))
