"""The fetch door: one URL in, its body out."""

import asyncio
import re
from typing import Annotated

from fastapi import APIRouter, Depends, Header, Query, Response

from curtsy.api.desk import TheDesk
from curtsy.api.fetch_shapes import (
    Cancelled,
    FetchCreated,
    FetchJob,
    FetchRequest,
    JobList,
    Retried,
    created,
    job_request,
    listed,
    shown,
)
from curtsy.api.json_route import JsonRoute
from curtsy.api.problems import BadState, problems
from curtsy.api.reading import list_jobs, read_job
from curtsy.api.words import FILTERS, states_of
from curtsy.errors import NotFound, WrongState

router = APIRouter(route_class=JsonRoute)

MAX_SKIP = 100_000


async def _job(job_id: str) -> str:
    """What cannot be an id, and so need not be asked for, is not found either."""
    if not re.fullmatch(r"[A-Za-z0-9_.-]{1,100}", job_id):
        raise NotFound("job", job_id[:100])
    return job_id


JobId = Annotated[str, Depends(_job)]

Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        pattern=r"^[\x21-\x7e]{1,255}$",
        description="The same key with the same body gives the same job, for a day.",
    ),
]
StatusFilter = Annotated[
    str | None,
    Query(
        pattern=f"^({'|'.join(FILTERS)})$",
        description=f"A word of the fetch door or of the engine: {', '.join(FILTERS)}.",
    ),
]


@router.post("/jobs", status_code=201, response_model=FetchCreated,
             responses=problems(413, 429, 507))  # fmt: skip
@router.post("/jobs/", status_code=201, include_in_schema=False)
async def submit(asked: FetchRequest, desk: TheDesk, idempotency_key: Key = None) -> Response:
    """Take one URL in. A repeated Idempotency-Key gets the first answer again, also as 201."""
    submitted = await desk.submit(job_request(asked, idempotency_key))
    return created(asked, submitted)


@router.get("/jobs", responses=problems(), response_model_exclude_none=True)
@router.get("/jobs/", include_in_schema=False, response_model_exclude_none=True)
async def index(
    desk: TheDesk,
    limit: Annotated[int, Query(ge=1, le=1000)] = 50,
    skip: Annotated[int, Query(ge=0, le=MAX_SKIP)] = 0,
    status_filter: StatusFilter = None,
) -> JobList:
    """Jobs, newest first."""
    states = states_of(status_filter) if status_filter else None
    rows, total = await desk.read(lambda c: list_jobs(c, states, limit=limit, skip=skip))
    return listed(rows, total, limit=limit, skip=skip)


@router.get("/jobs/{job_id}", response_model=FetchJob, responses=problems(404))
async def show(job: JobId, desk: TheDesk) -> Response:
    """A job and, once it is completed, the content."""
    row = await desk.read(lambda c: read_job(c, job))
    body = await asyncio.to_thread(shown, row)
    return Response(body, media_type="application/json")


@router.delete("/jobs/{job_id}", responses=problems(400, 404, 507))
async def cancel(job: JobId, desk: TheDesk) -> Cancelled:
    """Cancel a job; 400 when it has ended."""
    try:
        removed = await desk.cancel(job)
    except WrongState as error:
        raise BadState(error) from None
    return Cancelled(message=f"Job cancelled. Removed {removed} pending tasks.")


@router.post("/jobs/{job_id}/retry", status_code=202, responses=problems(404, 409, 507))
async def retry(job: JobId, desk: TheDesk) -> Retried:
    """Fetch again what failed; 409 when nothing did."""
    pages = await desk.retry(job)
    return Retried(message=f"Job retried. {pages} failed pages wait again.", pages=pages)
