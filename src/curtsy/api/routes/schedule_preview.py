"""Predicts what the schedules will do."""

from operator import attrgetter
from typing import Annotated

from fastapi import APIRouter, Query

from curtsy.api.auth.middleware import TheCaller
from curtsy.api.backend import TheBackend
from curtsy.api.middleware.json_route import JsonRoute
from curtsy.api.problems import problems
from curtsy.api.schemas.runs import Envelope
from curtsy.api.schemas.schedule_preview import SchedulerPlan, plan_of
from curtsy.clock import HOUR

router = APIRouter(route_class=JsonRoute, generate_unique_id_function=attrgetter("name"))
LONGEST_HOURS = 31 * 24

Hours = Annotated[float, Query(gt=0, le=LONGEST_HOURS, allow_inf_nan=False)]
Limit = Annotated[int, Query(ge=0, le=10_000)]


@router.get("/scheduler/plan", responses=problems())
async def get_scheduler_plan(
    backend: TheBackend, caller: TheCaller, hours: Hours = 168, limit: Limit = 1_000
) -> Envelope[SchedulerPlan]:
    """Predicted slots of the schedules in the coming hours, and where they clash or overrun."""
    now = backend.clock.now()
    until = now + round(hours * HOUR)
    survey, found = await backend.schedules.preview(caller.confined_to, now=now, until=until)
    return Envelope(data=plan_of(found, now=now, limit=limit, schedules=len(survey.schedules),
                                    all_of_them=survey.all_of_them))  # fmt: skip
