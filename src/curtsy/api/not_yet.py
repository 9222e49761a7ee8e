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

NOT_YET: Mapping[str, tuple[str, ...]] = {
    "schedules": (
        "GET /schedules",
        "POST /schedules",
        "GET /schedules/{schedule_id}",
        "PATCH /schedules/{schedule_id}",
        "DELETE /schedules/{schedule_id}",
        "POST /schedules/{schedule_id}/run",
        "POST /schedules/{schedule_id}/pause",
        "POST /schedules/{schedule_id}/resume",
        "GET /schedules/{schedule_id}/runs",
    ),
    "politeness policies": (
        "GET /sources",
        "GET /sources/{source_name}",
        "PUT /sources/{source_name}",
        "PATCH /sources/{source_name}",
        "DELETE /sources/{source_name}",
        "POST /sources/{source_name}/pause",
        "POST /sources/{source_name}/resume",
    ),
    "receipts": ("GET /sources/{source_name}/receipt",),
    "reasons": (
        "GET /sources/{source_name}/why",
        "GET /jobs/{job_id}/why",
        "GET /pages/{page_id}/why",
    ),
    "monitoring": ("GET /metrics", "GET /stats", "GET /reports/latest", "GET /alerts"),
    "page history": ("GET /pages/{page_id}/history", "GET /pages/{page_id}/diff"),
    "export": ("GET /jobs/{job_id}/export",),
}
"""By part: the methods and paths that it will bring."""

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


def _name(method: str, path: str) -> str:
    """As in `post_schedules_one_run`: no two operations share one."""
    words = re.findall(r"[a-z]+", _PARAMETER.sub("one", path))
    return "_".join([method.lower(), *words])


def _router() -> APIRouter:
    made = APIRouter(generate_unique_id_function=attrgetter("name"))
    for part, operations in NOT_YET.items():
        for method, path in (operation.split() for operation in operations):
            made.add_api_route(
                path, _answer(part), methods=[method], name=_name(method, path), status_code=501,
                response_model=None, response_class=ProblemResponse,
                response_description="Not Implemented", responses={501: problems(501)[501]},
                openapi_extra=_described(path), description=f"Comes with the part “{part}”.",
            )  # fmt: skip
    return made


router = _router()
