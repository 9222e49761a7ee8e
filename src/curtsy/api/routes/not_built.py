"""Operations of the API contract that are not built yet: each answers 501 and names its part.

This list only shrinks: when a part is built, its operations move to routes of their own.
"""

import re
from collections.abc import Awaitable, Callable, Mapping
from operator import attrgetter
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from curtsy.api.problems import MEDIA_TYPE, problem, problems

NOT_YET: Mapping[str, Mapping[str, str]] = {
    "page history": {
        "GET /pages/{page_id}/history": "get_page_history",
        "GET /pages/{page_id}/diff": "get_page_diff",
    },
    "export": {
        "GET /jobs/{job_id}/export": "export_job",
    },
}
"""By part: the methods and paths that it will provide, with their operation ids."""

_PARAMETER = re.compile(r"\{(\w+)\}")


class ProblemResponse(JSONResponse):
    media_type = MEDIA_TYPE


def not_built(what: str, part: str) -> Response:
    """Returns a 501 that names the part which will provide the operation."""
    sentence = f"{what} is not built yet: it comes with the part {part!r}."
    return problem(501, sentence, "not_built", part=part)


def _endpoint(part: str) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        return not_built(f"{request.method} {request.url.path}", part)

    return endpoint


def _path_parameters(path: str) -> dict[str, Any]:
    return {
        "parameters": [
            {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
            for name in _PARAMETER.findall(path)
        ]
    }


def _router() -> APIRouter:
    built = APIRouter(generate_unique_id_function=attrgetter("name"))
    for part, operations in NOT_YET.items():
        for operation, name in operations.items():
            method, path = operation.split()
            built.add_api_route(
                path, _endpoint(part), methods=[method], name=name, status_code=501,
                response_model=None, response_class=ProblemResponse,
                response_description="Not Implemented", responses={501: problems(501)[501]},
                openapi_extra=_path_parameters(path),
                description=f"Not built yet: comes with the part “{part}”.",
            )  # fmt: skip
    return built


router = _router()
