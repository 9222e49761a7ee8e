"""The OpenAPI document, completed by what no door says itself: all that can happen before a
request has reached its door."""

from typing import Any

from fastapi import FastAPI
from pydantic.json_schema import models_json_schema

from curtsy.api.needs import role_needed
from curtsy.api.problems import Problem, problem_responses

Operation = dict[str, Any]

ANYWHERE = (403, 422, 500)
"""A foreign Host or Origin, a NUL in the query, an error of our own."""
WITH_A_KEY = (401, 403, 503)
"""None that holds, one of a role too small, no answer from the store that knows keys."""
WITH_A_BODY = (408, 413)
"""Too slow, too large."""


def describe(app: FastAPI) -> None:
    _, schemas = models_json_schema(
        [(Problem, "serialization")], ref_template="#/components/schemas/{model}"
    )
    described = app.openapi

    def openapi() -> dict[str, Any]:
        document = described()
        document["components"]["schemas"] |= schemas["$defs"]
        document["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
        document["security"] = [{"key": []}, {}]  # without one where nobody is asked
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
        statuses |= {*WITH_A_KEY}
    if "requestBody" in operation:
        statuses |= {*WITH_A_BODY}
    made = {str(status): one for status, one in problem_responses(statuses).items()}
    operation["responses"] = dict(sorted((made | operation["responses"]).items()))
