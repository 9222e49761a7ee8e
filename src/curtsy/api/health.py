"""Is the server of use? 503 while the store is away; degraded while no worker fetches."""

from typing import Literal

from fastapi import APIRouter, Response
from pydantic import BaseModel

from curtsy import __version__
from curtsy.api.desk import TheDesk
from curtsy.api.problems import STORE_AWAY_RETRY_SECONDS
from curtsy.api.reading import live_workers
from curtsy.errors import StoreAway, StoreFull

router = APIRouter()


class Health(BaseModel):
    status: Literal["ok", "degraded"]
    """`degraded`: the store is away, or no worker lives and so nothing is fetched."""
    store: Literal["ok", "away"]
    workers: int
    version: str = __version__


@router.get("/health", responses={503: {"model": Health, "description": "The store is away"}})
async def health(desk: TheDesk, response: Response) -> Health:
    try:
        workers = await desk.read(lambda c: live_workers(c, now=desk.clock.now()))
    except (StoreAway, StoreFull):
        response.status_code = 503
        response.headers["Retry-After"] = str(STORE_AWAY_RETRY_SECONDS)
        return Health(status="degraded", store="away", workers=0)
    return Health(status="ok" if workers else "degraded", store="ok", workers=workers)
