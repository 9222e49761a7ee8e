"""The runs door: named sites scraped now or on their schedule, and the queue behind them.

Sites cannot be declared yet, so there are no runs either: what needs them says so.
"""

from operator import attrgetter

from fastapi import APIRouter, Response

from curtsy.api.desk import TheDesk
from curtsy.api.envelope import Envelope
from curtsy.api.json_route import JsonRoute
from curtsy.api.not_yet import not_built
from curtsy.api.problems import problems
from curtsy.api.queue_shapes import QueueHealth, QueueStatus, health_of, status_of
from curtsy.api.run_shapes import (
    MOST_RESULTS_IN_SYNC,
    Mode,
    Run,
    RunStarted,
    SchedulerStatus,
    SchedulerTick,
    ScrapeRequest,
    Sites,
)
from curtsy.errors import BadRequest, NotFound
from curtsy.operations.queue_report import queue_report

router = APIRouter(route_class=JsonRoute, generate_unique_id_function=attrgetter("name"))


@router.get("/jobs/sites", response_model=Envelope[Sites], responses=problems(501))
async def sites() -> Response:
    """The sites that can be scraped by name."""
    return not_built("The list of sites", "sites")


@router.post("/jobs/scrape", response_model=Envelope[RunStarted], responses=problems(413, 501))
async def scrape(asked: ScrapeRequest, mode: Mode = "async") -> Response:
    """Scrape a site now; with `mode=sync` the answer waits for the results, at most 25 of them."""
    if mode == "sync" and asked.results_wanted > MOST_RESULTS_IN_SYNC:
        raise BadRequest([f"With mode=sync results_wanted is at most {MOST_RESULTS_IN_SYNC}."])
    return not_built("Scraping a site by its name", "sites")


@router.get("/jobs/scrape/{run_id}", responses=problems(404))
async def scrape_run(run_id: str) -> Envelope[Run]:
    """A run: how it stands, and its results."""
    raise NotFound("run", run_id[:100])


@router.get("/jobs/queue/status", responses=problems())
async def queue_status(desk: TheDesk) -> Envelope[QueueStatus]:
    """What waits in each band, how long, and how fast it goes."""
    report = await desk.read(lambda c: queue_report(c, now=desk.clock.now()))
    return Envelope(data=status_of(report))


@router.get("/jobs/health", responses=problems())
async def jobs_health(desk: TheDesk) -> Envelope[QueueHealth]:
    """The service and its queue: workers, what waits, how much succeeds."""
    report = await desk.read(lambda c: queue_report(c, now=desk.clock.now()))
    return Envelope(data=health_of(report))


@router.post("/scheduler/run", response_model=Envelope[SchedulerTick], responses=problems(501))
async def run_scheduler() -> Response:
    """Queue at once what is due by schedule."""
    return not_built("The scheduler", "schedules")


@router.get("/scheduler/status", response_model=Envelope[SchedulerStatus],
            responses=problems(501))  # fmt: skip
async def scheduler_status() -> Response:
    """Who keeps the schedules, and what comes next."""
    return not_built("The scheduler", "schedules")
