"""How a job went: duration, retries, peak memory and tracebacks."""

from operator import attrgetter

from fastapi import APIRouter

from curtsy.api.auth.middleware import TheCaller
from curtsy.api.backend import TheBackend
from curtsy.api.middleware.json_route import JsonRoute
from curtsy.api.problems import problems
from curtsy.api.routes.jobs import JobId
from curtsy.api.schemas.performance import Performance, performance_of
from curtsy.jobs.performance import read_performance

router = APIRouter(route_class=JsonRoute, generate_unique_id_function=attrgetter("name"))


@router.get("/jobs/{job_id}/performance", responses=problems(404))
async def get_job_performance(job: JobId, backend: TheBackend, caller: TheCaller) -> Performance:
    """The duration of a job, the retries and the peak memory of its pages, and its newest failures
    with their tracebacks."""
    row, now = await backend.job(job), backend.clock.now()
    found = await backend.read(lambda c: read_performance(c, row, now=now))
    return performance_of(job, found, confined=caller.confined_to is not None)
