"""The fetch door: one URL in, its body out."""

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
    asked: FetchRequest, backend: TheBackend, caller: TheCaller, idempotency_key: Key = None
) -> Response:
    """Take one URL in. A repeated Idempotency-Key gets the first answer again, also as 201."""
    submitted = await backend.submit(job_request(asked, idempotency_key, caller))
    return created(asked, submitted)
