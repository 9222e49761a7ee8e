"""Health and version of the server: 503 while the store is away or full, `degraded` without a
worker."""

from operator import attrgetter
from typing import Literal

from fastapi import APIRouter, Response
from pydantic import BaseModel

from curtsy import __version__
from curtsy.api.backend import TheBackend
from curtsy.api.problems import RETRY_AFTER, STORE_AWAY_RETRY_SECONDS
from curtsy.errors import StoreAway, StoreFull
from curtsy.jobs.job import live_workers

router = APIRouter(generate_unique_id_function=attrgetter("name"))


class Version(BaseModel):
    name: str = "curtsy"
    version: str = __version__


class HealthFacts(BaseModel):
    store: Literal["ok", "away", "full"]
    """`full`: the database answers, but its disk has no room to store anything."""
    workers: int
    """Live workers."""
    version: str = __version__


class Health(HealthFacts):
    status: Literal["ok", "degraded"]
    """`degraded`: the store is away or full, or no worker is live, so nothing is fetched."""
    data: HealthFacts
    """The same facts once more, as in the envelope of the runs door."""


AWAY = {"model": Health, "description": "The store is away or full", "headers": RETRY_AFTER}


@router.get("/health", responses={503: AWAY})
@router.head("/health", include_in_schema=False)
async def get_health(backend: TheBackend, response: Response) -> Health:
    """The health of the service in one word, with the number of live workers."""
    try:
        workers = await backend.read(lambda c: live_workers(c, now=backend.clock.now()))
        facts = HealthFacts(store="full" if await backend.is_full() else "ok", workers=workers)
    except StoreAway:
        facts = HealthFacts(store="away", workers=0)
    except StoreFull:
        facts = HealthFacts(store="full", workers=0)
    if facts.store != "ok":
        response.status_code = 503
        response.headers["Retry-After"] = str(STORE_AWAY_RETRY_SECONDS)
    return _health(facts)


@router.get("/version")
async def get_version() -> Version:
    """The name and version of the server."""
    return Version()


def _health(facts: HealthFacts) -> Health:
    status: Literal["ok", "degraded"] = (
        "ok" if facts.workers and facts.store == "ok" else "degraded"
    )
    return Health(status=status, data=facts, **facts.model_dump())
