"""The application: doors, problem documents and the guards around them."""

import asyncio

from fastapi import FastAPI
from starlette.middleware.cors import CORSMiddleware

from curtsy import __version__
from curtsy.api import problems
from curtsy.api.auth.access_rules import AccessRules
from curtsy.api.auth.authenticator import Authenticator
from curtsy.api.auth.middleware import AuthMiddleware
from curtsy.api.backend import Backend
from curtsy.api.eta_cache import EtaCache
from curtsy.api.middleware.origins import ANSWERED_WITH, ASKED_WITH, METHODS, OriginCheck
from curtsy.api.middleware.request_limits import BodyLimit, ErrorBoundary
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


def create_app(backend: Backend, access_rules: AccessRules | None = None) -> FastAPI:
    """Nothing is started: the desk, its store and its submitter live as long as the caller says."""
    access_rules = access_rules or AccessRules()
    app = FastAPI(
        title="curtsy",
        version=__version__,
        summary="A distributed job scheduler for web scraping",
        docs_url=None,  # its page would load scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.backend = backend
    app.state.authenticator = Authenticator(backend, access_rules)
    app.state.stopping = asyncio.Event()
    app.state.etas = EtaCache(backend)
    problems.install(app)
    describe(app)
    for door in DOORS:
        app.router.routes.extend(door.router.routes)  # included as routers they cost a third more
    app.add_middleware(BodyLimit)
    app.add_middleware(AuthMiddleware, authenticator=app.state.authenticator)
    if access_rules.origins:
        app.add_middleware(CORSMiddleware, allow_origins=access_rules.origins,
                           allow_methods=METHODS, allow_headers=ASKED_WITH,
                           expose_headers=ANSWERED_WITH)  # fmt: skip
    app.add_middleware(OriginCheck, access_rules=access_rules)
    app.add_middleware(ErrorBoundary)
    return app
