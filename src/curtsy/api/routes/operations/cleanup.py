"""Cleanup: deletes what is older than RESULT_DAYS, and shows how far it is."""

from operator import attrgetter
from typing import Any, Literal

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict, Field

from curtsy.api.backend import TheBackend
from curtsy.api.cleanup_backend import CleanupBackend
from curtsy.api.middleware.json_route import JsonRoute
from curtsy.api.problems import problems
from curtsy.clock import rfc3339, rfc3339_or_none
from curtsy.requests import examples

router = APIRouter(
    route_class=JsonRoute, prefix="/cleanup", generate_unique_id_function=attrgetter("name")
)
LONGEST_DAYS = 36_500


class CleanupRequest(BaseModel):
    model_config = ConfigDict(
        extra="forbid", strict=True, json_schema_extra=examples.shown(examples.CLEANUP)
    )

    days: int | None = Field(None, ge=1, le=LONGEST_DAYS)
    """Delete jobs that ended longer ago; without it, RESULT_DAYS."""


class CleanupShown(BaseModel):
    state: Literal["idle", "running", "done", "failed"]
    """`idle`: this process has not run one."""
    days: int | None = None
    started_at: str | None = None
    ended_at: str | None = None
    deleted: dict[str, int]
    """What it has deleted so far, by kind; `bytes_given_back` counts those of a SQLite file."""
    message: str | None = None


IF_LONG: dict[int | str, dict[str, Any]] = {
    202: {"model": CleanupShown, "description": "It goes on: `GET /cleanup` shows how far it is."}
}


@router.post("", responses=problems(409, 413) | IF_LONG, response_model_exclude_none=True)
async def run_cleanup(
    body: CleanupRequest, backend: TheBackend, response: Response
) -> CleanupShown:
    """Delete old jobs and what no job needs, now, in small steps beside the work. A cleanup that
    takes longer than a few seconds goes on in the background of this process. 409 while one
    runs."""
    run = await backend.cleanup.start(body.days)
    if run.state == "running":
        response.status_code = 202
    return _shown(backend.cleanup)


@router.get("", responses=problems(), response_model_exclude_none=True)
async def get_cleanup(backend: TheBackend) -> CleanupShown:
    """The cleanup that was started here last, with what it has deleted so far. Those of the
    maintenance timetable are in the runs of their schedule."""
    return _shown(backend.cleanup)


def _shown(cleanup: CleanupBackend) -> CleanupShown:
    last = cleanup.last
    if last is None:
        return CleanupShown(state="idle", deleted=cleanup.deleted())
    return CleanupShown(
        state=last.state, days=last.days, started_at=rfc3339(last.started_at),
        ended_at=rfc3339_or_none(last.ended_at), deleted=cleanup.deleted(), message=last.message,
    )  # fmt: skip
