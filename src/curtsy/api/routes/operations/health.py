"""Health and version of the server. `/health`: 503 while the store is away or full, `degraded`
without a worker. `/health/live` and `/health/ready` are probes of this one process: whether to
start it again, and whether to send it requests.
"""

from operator import attrgetter
from typing import Literal

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel

from curtsy import __version__
from curtsy.api.backend import Backend, TheBackend
from curtsy.api.problems import RETRY_AFTER, STORE_AWAY_RETRY_SECONDS
from curtsy.errors import StoreAway, StoreFull, WrongSchema
from curtsy.jobs.job import live_workers
from curtsy.store.version import newest, require_known_schema

router = APIRouter(generate_unique_id_function=attrgetter("name"))


class Version(BaseModel):
    name: str = "curtsy"
    version: str = __version__
    program_schema: str = newest()
    """The newest schema of a database that this server knows."""


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


class Liveness(BaseModel):
    status: Literal["ok"] = "ok"
    version: str = __version__


class Readiness(BaseModel):
    ready: bool
    code: Literal["ready", "stopping", "store_away", "wrong_schema"]
    """For programs: why it is not ready."""
    detail: str
    """The same as a sentence."""


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


@router.get("/health/live")
@router.head("/health/live", include_in_schema=False)
async def get_liveness() -> Liveness:
    """Answers as long as this process works, whatever its database does."""
    return Liveness()


NOT_READY = {"model": Readiness, "description": "Send no requests now", "headers": RETRY_AFTER}


@router.get("/health/ready", responses={503: NOT_READY})
@router.head("/health/ready", include_in_schema=False)
async def get_readiness(backend: TheBackend, request: Request, response: Response) -> Readiness:
    """Whether this process can serve requests: it does not stop, its database answers, and has a
    schema that this version knows. A full disk or a lack of workers is no reason: it still answers
    questions."""
    found = await _readiness(backend, is_stopping=request.app.state.stopping.is_set())
    if not found.ready:
        response.status_code = 503
        response.headers["Retry-After"] = str(STORE_AWAY_RETRY_SECONDS)
    return found


async def _readiness(backend: Backend, *, is_stopping: bool) -> Readiness:
    """The sentences are for everyone: they tell nothing of the database's place or error."""
    if is_stopping:
        detail = "This process stops: it answers what came in, and accepts nothing more."
        return Readiness(ready=False, code="stopping", detail=detail)
    try:
        await backend.timed.in_time(require_known_schema(backend.timed.store))
    except (StoreAway, StoreFull):
        detail = "The database does not answer: the log of this process says why."
        return Readiness(ready=False, code="store_away", detail=detail)
    except WrongSchema:
        detail = "The database's schema is not one that this version knows: see `curtsy db check`."
        return Readiness(ready=False, code="wrong_schema", detail=detail)
    return Readiness(ready=True, code="ready", detail="The database answers, and its schema fits.")


@router.get("/version")
async def get_version() -> Version:
    """The name and version of the server, and the schema that belongs to this version."""
    return Version()


def _health(facts: HealthFacts) -> Health:
    status: Literal["ok", "degraded"] = (
        "ok" if facts.workers and facts.store == "ok" else "degraded"
    )
    return Health(status=status, data=facts, **facts.model_dump())
