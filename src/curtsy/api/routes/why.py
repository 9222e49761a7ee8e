"""Explains why a job, a page or a source waits."""

from operator import attrgetter

from fastapi import APIRouter, Request

from curtsy.api.auth.middleware import TheCaller
from curtsy.api.auth.ownership import require_own_page
from curtsy.api.backend import TheBackend
from curtsy.api.middleware.json_route import JsonRoute
from curtsy.api.problems import problems
from curtsy.api.routes.jobs import JobId
from curtsy.api.routes.pages import PageId
from curtsy.api.schemas.why import JobWaiting, Waiting, job_waiting, waiting
from curtsy.explain.why import why_job, why_page, why_source

router = APIRouter(route_class=JsonRoute, generate_unique_id_function=attrgetter("name"))


@router.get("/jobs/{job_id}/why", responses=problems(404))
async def explain_job(job: JobId, backend: TheBackend, caller: TheCaller) -> JobWaiting:
    """What a job waits for, source by source, its predicted end, and where the time of its pages
    went so far."""
    now, confined = backend.clock.now(), caller.confined_to is not None
    why = await backend.read(lambda c: why_job(c, job, backend.policy, now=now, confined=confined))
    return job_waiting(why, now)


@router.get("/pages/{page_id}/why", responses=problems(404))
async def explain_page(
    request: Request, page: PageId, backend: TheBackend, caller: TheCaller
) -> Waiting:
    """What a page waits for, and its predicted start."""
    number = int(page.removeprefix("art_"), 16)
    await require_own_page(request, backend, number, page)
    now, confined = backend.clock.now(), caller.confined_to is not None
    why = await backend.read(
        lambda c: why_page(c, number, page, backend.policy, now=now, confined=confined)
    )
    return waiting(why, now)


@router.get("/sources/{source_name}/why", responses=problems(404))
async def explain_source(source_name: str, backend: TheBackend) -> Waiting:
    """What the next request of a source waits for."""
    now = backend.clock.now()
    why = await backend.read(lambda c: why_source(c, source_name, backend.policy, now=now))
    return waiting(why, now)
