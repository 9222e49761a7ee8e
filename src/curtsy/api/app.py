"""Builds the FastAPI application: routes, error responses and middleware."""

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
from curtsy.api.middleware.origins import METHODS, REQUEST_HEADERS, RESPONSE_HEADERS, OriginCheck
from curtsy.api.middleware.query_check import check_queries
from curtsy.api.middleware.request_limits import BodyLimit, ErrorBoundary
from curtsy.api.openapi import complete_openapi
from curtsy.api.routes import (
    articles,
    crawl,
    discover,
    docs,
    fetch,
    jobs,
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
)
from curtsy.api.routes.operations import (
    alerts,
    cleanup,
    dead_letters,
    health,
    metrics,
    performance,
    reports,
    stats,
    workers,
)

MODULES = (alerts, articles, crawl, discover, runs, schedule_preview, jobs, streams, fetch,
           dead_letters, metrics, cleanup, pages, performance, receipts, reports, schedules,
           sessions, sites, sources, stats, webhooks, why, workers, health, docs,
           not_built)  # fmt: skip
"""In the order in which routes are matched."""
UNCHECKED = (docs, not_built)
"""Their routes declare no query parameters: pages of a browser, and what is not built yet."""


def create_app(backend: Backend, access_rules: AccessRules | None = None) -> FastAPI:
    """Starts nothing: the caller owns the backend with its store and its submitter."""
    access_rules = access_rules or AccessRules()
    app = FastAPI(
        title="curtsy",
        version=__version__,
        summary="A distributed job scheduler for web scraping",
        docs_url=None,  # that page would load scripts from another host
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.backend = backend
    app.state.authenticator = Authenticator(backend, access_rules)
    app.state.stopping = asyncio.Event()
    app.state.etas = EtaCache(backend)
    problems.install(app)
    complete_openapi(app)
    for module in MODULES:
        if module not in UNCHECKED:
            check_queries(module.router.routes)
        app.router.routes.extend(module.router.routes)  # include_router costs a third more
    app.add_middleware(BodyLimit)
    app.add_middleware(AuthMiddleware, authenticator=app.state.authenticator,
                       streams_per_key=access_rules.streams_per_key)  # fmt: skip
    if access_rules.origins:
        app.add_middleware(CORSMiddleware, allow_origins=access_rules.origins,
                           allow_methods=METHODS, allow_headers=REQUEST_HEADERS,
                           expose_headers=RESPONSE_HEADERS)  # fmt: skip
    app.add_middleware(OriginCheck, access_rules=access_rules)
    app.add_middleware(ErrorBoundary)
    return app
