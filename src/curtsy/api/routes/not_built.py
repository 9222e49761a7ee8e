"""Paths of the contract whose engine comes with a later part: each says so, and which.

This list only shrinks. A part that is built takes its paths out of it and gives them a door.
"""

import re
from collections.abc import Awaitable, Callable, Mapping
from operator import attrgetter
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from curtsy.api.problems import MEDIA_TYPE, problem, problems

NOT_YET: Mapping[str, Mapping[str, str]] = {
    "monitoring": {
        "GET /stats": "get_stats",
        "GET /reports/latest": "get_latest_report",
        "GET /alerts": "list_alerts",
    },
    "page history": {
        "GET /pages/{page_id}/history": "get_page_history",
        "GET /pages/{page_id}/diff": "get_page_diff",
    },
    "export": {
        "GET /jobs/{job_id}/export": "export_job",
    },
}
"""By part: the methods and paths that it will bring, and how clients will call them."""

_PARAMETER = re.compile(r"\{(\w+)\}")


class ProblemResponse(JSONResponse):
    media_type = MEDIA_TYPE


def not_built(what: str, part: str) -> Response:
    """Never a success that is none: 501, with the part that brings it."""
    sentence = f"{what} is not built yet: it comes with the part {part!r}."
    return problem(501, sentence, "not_built", part=part)


def _answer(part: str) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        return not_built(f"{request.method} {request.url.path}", part)

    return answer


def _described(path: str) -> dict[str, Any]:
    return {
        "parameters": [
            {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
            for name in _PARAMETER.findall(path)
        ]
    }


def _router() -> APIRouter:
    made = APIRouter(generate_unique_id_function=attrgetter("name"))
    for part, operations in NOT_YET.items():
        for operation, name in operations.items():
            method, path = operation.split()
            made.add_api_route(
                path, _answer(part), methods=[method], name=name, status_code=501,
                response_model=None, response_class=ProblemResponse,
                response_description="Not Implemented", responses={501: problems(501)[501]},
                openapi_extra=_described(path), description=f"Comes with the part “{part}”.",
            )  # fmt: skip
    return made


router = _router()
