"""The fetch door: submits one URL, whose body is the result."""

from operator import attrgetter

from fastapi import APIRouter, Response

from curtsy.api.auth.middleware import TheCaller
from curtsy.api.backend import TheBackend
from curtsy.api.middleware.json_route import JsonRoute
from curtsy.api.problems import problems
from curtsy.api.schemas.fetch import FetchCreated, created
from curtsy.api.schemas.idempotency import Key
from curtsy.requests.fetch import FetchRequest, job_request

router = APIRouter(route_class=JsonRoute, generate_unique_id_function=attrgetter("name"))


@router.post("/jobs", status_code=201, response_model=FetchCreated,
             responses=problems(413, 429, 507))  # fmt: skip
@router.post("/jobs/", status_code=201, include_in_schema=False)
async def submit_url(
    body: FetchRequest, backend: TheBackend, caller: TheCaller, idempotency_key: Key = None
) -> Response:
    """Submit one URL. A repeated Idempotency-Key returns the first response again, also as 201."""
    submitted = await backend.submit(job_request(body, idempotency_key, caller))
    return created(body, submitted)
