"""The application: doors, problem documents and the guards around them."""

import asyncio

from fastapi import FastAPI
from starlette.middleware.cors import CORSMiddleware

from curtsy import __version__
from curtsy.api import (
    articles_door,
    crawl_door,
    docs,
    fetch_door,
    foretold_door,
    health,
    jobs_door,
    letters_door,
    metrics_door,
    not_yet,
    pages_door,
    problems,
    receipt_door,
    runs_door,
    schedules_door,
    session_door,
    sites_door,
    sources_door,
    streams_door,
    webhooks_door,
    why_door,
    workers_door,
)
from curtsy.api.access import Access
from curtsy.api.describing import describe
from curtsy.api.desk import Desk
from curtsy.api.entrance import Entrance
from curtsy.api.etas import Etas
from curtsy.api.guards import CatchEverything, LimitBody
from curtsy.api.origins import ANSWERED_WITH, ASKED_WITH, METHODS, RefuseStrangers
from curtsy.api.porter import Porter

DOORS = (articles_door, crawl_door, runs_door, foretold_door, jobs_door, streams_door, fetch_door,
         letters_door, metrics_door, pages_door, receipt_door, schedules_door, session_door,
         sites_door, sources_door, webhooks_door, why_door, workers_door, health, docs,
         not_yet)  # fmt: skip
"""In the order in which a request looks for its own."""


def create_app(desk: Desk, entrance: Entrance | None = None) -> FastAPI:
    """Nothing is started: the desk, its store and its submitter live as long as the caller says."""
    entrance = entrance or Entrance()
    app = FastAPI(
        title="curtsy",
        version=__version__,
        summary="A distributed job scheduler for web scraping",
        docs_url=None,  # its page would load scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.desk = desk
    app.state.porter = Porter(desk, entrance)
    app.state.stopping = asyncio.Event()
    app.state.etas = Etas(desk)
    problems.install(app)
    describe(app)
    for door in DOORS:
        app.router.routes.extend(door.router.routes)  # included as routers they cost a third more
    app.add_middleware(LimitBody)
    app.add_middleware(Access, porter=app.state.porter)
    if entrance.origins:
        app.add_middleware(CORSMiddleware, allow_origins=entrance.origins, allow_methods=METHODS,
                           allow_headers=ASKED_WITH, expose_headers=ANSWERED_WITH)  # fmt: skip
    app.add_middleware(RefuseStrangers, entrance=entrance)
    app.add_middleware(CatchEverything)
    return app
