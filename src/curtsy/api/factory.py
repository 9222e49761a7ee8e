"""The application: doors, problem documents and the guards around them."""

from fastapi import FastAPI

from curtsy import __version__
from curtsy.api import (
    articles_door,
    docs,
    fetch_door,
    health,
    jobs_door,
    letters_door,
    pages_door,
    problems,
    streams_door,
)
from curtsy.api.desk import Desk
from curtsy.api.guards import CatchEverything, LimitBody

DOORS = (articles_door, jobs_door, streams_door, fetch_door, letters_door, pages_door, health, docs)
"""In the order in which a request looks for its own."""


def create_app(desk: Desk) -> FastAPI:
    """Nothing is started: the desk, its store and its submitter live as long as the caller says."""
    app = FastAPI(
        title="curtsy",
        version=__version__,
        summary="A distributed job scheduler for web scraping",
        docs_url=None,  # its page would load scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.desk = desk
    problems.install(app)
    for door in DOORS:
        app.router.routes.extend(door.router.routes)  # included as routers they cost a third more
    app.add_middleware(LimitBody)
    app.add_middleware(CatchEverything)
    return app
