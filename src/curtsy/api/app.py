"""The application: doors, problem documents and the guards around them."""

import asyncio

from fastapi import FastAPI
from starlette.middleware.cors import CORSMiddleware

from curtsy import __version__
from curtsy.api import problems
from curtsy.api.auth.access_rules import Entrance
from curtsy.api.auth.authenticator import Porter
from curtsy.api.auth.middleware import Access
from curtsy.api.backend import Backend
from curtsy.api.eta_cache import Etas
from curtsy.api.middleware.origins import ANSWERED_WITH, ASKED_WITH, METHODS, RefuseStrangers
from curtsy.api.middleware.request_limits import CatchEverything, LimitBody
from curtsy.api.openapi import describe
from curtsy.api.routes import (
    articles,
    crawl,
    dead_letters,
    docs,
    fetch,
    health,
    jobs,
    metrics,
    not_built,
    pages,
    receipts,
    runs,
    schedule_preview,
    schedules,
    sessions,
    sites,
    sources,
    streams,
    webhooks,
    why,
    workers,
)

DOORS = (articles, crawl, runs, schedule_preview, jobs, streams, fetch,
         dead_letters, metrics, pages, receipts, schedules, sessions,
         sites, sources, webhooks, why, workers, health, docs,
         not_built)  # fmt: skip
"""In the order in which a request looks for its own."""


def create_app(backend: Backend, entrance: Entrance | None = None) -> FastAPI:
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
    app.state.backend = backend
    app.state.porter = Porter(backend, entrance)
    app.state.stopping = asyncio.Event()
    app.state.etas = Etas(backend)
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
