"""What happened in the last hours."""

from operator import attrgetter
from typing import Annotated

from fastapi import APIRouter, Query

from curtsy.api.backend import TheBackend
from curtsy.api.problems import problems
from curtsy.api.schemas.stats import StatsShown, stats_of
from curtsy.api.stats import read_stats

router = APIRouter(generate_unique_id_function=attrgetter("name"))


@router.get("/stats", responses=problems())
async def get_stats(
    backend: TheBackend,
    hours: Annotated[int, Query(ge=1, le=8_760)] = 24,
    points: Annotated[int, Query(ge=1, le=500)] = 60,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
) -> StatsShown:
    """Success rate, durations, waits, retries and failures of the last hours, in all, by priority,
    by source and by site; beside them the queue, the workers, the limits and the dead letters as
    they are now. `points` bounds the series, `limit` each list of sources and sites."""
    found = await backend.timed.read(
        lambda c: read_stats(c, backend.policy, hours=hours, points=points, most=limit,
                             now=backend.clock.now()),
        large=True,
    )  # fmt: skip
    return stats_of(found)
