"""The runs door: scrapes sites by name, and reports on the queue and the scheduler."""

from operator import attrgetter
from typing import Any

from fastapi import APIRouter, Response
from starlette.requests import HTTPConnection

from curtsy.api.auth.middleware import TheCaller
from curtsy.api.auth.ownership import require_own_job
from curtsy.api.backend import TheBackend
from curtsy.api.middleware.json_route import JsonRoute
from curtsy.api.problems import problems
from curtsy.api.schemas.queue import QueueHealth, QueueStatus, health_of, status_of
from curtsy.api.schemas.runs import (
    Envelope,
    Run,
    RunStarted,
    SchedulerStatus,
    SchedulerTick,
    Sites,
    enveloped,
    limited_for_sync,
    scheduler_status,
    site_of,
    started,
    tick_of,
)
from curtsy.reports.queue import queue_report
from curtsy.requests.runs import Mode, ScrapeRequest
from curtsy.schedules.listing import read_status
from curtsy.schedules.ticker import ALIVE, LATE
from curtsy.sites import site

MOST_SITES = 10_000
IF_RUNNING: dict[int | str, dict[str, Any]] = {
    202: {
        "model": Envelope[RunStarted],
        "description": "With `mode=sync`: the run is still in progress.",
    }
}
router = APIRouter(route_class=JsonRoute, generate_unique_id_function=attrgetter("name"))


@router.get("/jobs/sites", responses=problems())
async def list_sites(backend: TheBackend) -> Envelope[Sites]:
    """The sites that can be scraped by name."""
    found = await backend.read(lambda c: site.list_sites(c, after="", most=MOST_SITES))
    return Envelope(data=Sites(sites=[site_of(one) for one in found]))


@router.post("/jobs/scrape", response_model=Envelope[RunStarted],
             responses=IF_RUNNING | problems(404, 409, 413, 429, 507))  # fmt: skip
async def scrape_site(
    body: ScrapeRequest, backend: TheBackend, caller: TheCaller, mode: Mode = "async"
) -> Response:
    """Scrape a site now. With `mode=sync` the response waits for the results, at most 25, and is
    202 when they take too long. 409 while another run of the site is in progress."""
    request = body if mode == "async" else await backend.read(lambda c: limited_for_sync(c, body))
    run = await backend.schedules.start_run(request, caller, mode)
    if mode == "async":
        return enveloped(started(run, mode))
    if not await backend.schedules.has_ended(run, within=backend.settings.sync_timeout):
        return enveloped(started(run, mode), 202)
    return enveloped(await backend.schedules.read_run(run))


@router.get("/jobs/scrape/{run_id}", responses=problems(404))
async def get_run(run_id: str, backend: TheBackend, connection: HTTPConnection) -> Envelope[Run]:
    """A run with its state and its results."""
    await require_own_job(connection, backend, run_id)
    return Envelope(data=await backend.schedules.read_run(run_id))


@router.get("/jobs/queue/status", responses=problems())
async def get_queue_status(backend: TheBackend) -> Envelope[QueueStatus]:
    """Waiting pages of each priority band, their age, and the throughput."""
    report = await backend.read(lambda c: queue_report(c, now=backend.clock.now()))
    return Envelope(data=status_of(report))


@router.get("/jobs/health", responses=problems())
async def get_queue_health(backend: TheBackend) -> Envelope[QueueHealth]:
    """The health of the service and its queue: workers, waiting pages, success rate."""
    report = await backend.read(lambda c: queue_report(c, now=backend.clock.now()))
    return Envelope(data=health_of(report))


@router.post("/scheduler/run", responses=problems(507))
async def run_scheduler(backend: TheBackend) -> Envelope[SchedulerTick]:
    """Fire all schedules that are due now."""
    return Envelope(data=tick_of(await backend.schedules.tick()))


@router.get("/scheduler/status", responses=problems())
async def get_scheduler_status(backend: TheBackend) -> Envelope[SchedulerStatus]:
    """The number of schedulers and schedules, the delays of the last hour, and the next run."""
    now = backend.clock.now()
    found = await backend.read(lambda c: read_status(c, now=now, alive=ALIVE, late=LATE))
    return Envelope(data=scheduler_status(found))
