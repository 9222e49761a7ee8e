"""What a job would come to, as it is shown."""

from typing import Any

from fastapi import Response
from pydantic import BaseModel

from curtsy.api.schemas.why import Reason, reasons
from curtsy.clock import SECOND, rfc3339_or_none
from curtsy.explain.advice import Advice
from curtsy.explain.plan import SHOWN, Plan


class PlannedAtSource(BaseModel):
    source: str
    pages: int
    ahead: int
    """Visits that would go before the job's last page."""
    predicted_start_at: str | None = None
    predicted_finish_at: str | None = None
    """None of them: the source is paused."""


class Suggestion(BaseModel):
    """The job would end too late. Each of these alone would make it, at the source that ends last;
    what would not do is left out."""

    source: str
    pages_in_time: int
    """So many of the job's pages would be in time as things are."""
    with_priority_1_finish_at: str | None = None
    """When it would end if all its pages had priority 1."""
    min_delay_seconds_needed: float | None = None
    """Between two requests to the source."""
    requests_per_hour_needed: int | None = None
    without_respectful_hours_finish_at: str | None = None
    """When it would end if the source had no `respectful_hours`."""


class PlannedJob(BaseModel):
    """Nothing was submitted (`dry_run`)."""

    dry_run: bool = True
    total: int
    new: int
    cached: int
    """No older than `max_age`: they would not be fetched."""
    joined: int
    """Other jobs wait for them already: they would be fetched once for all."""
    refused_by_robots: int
    """As far as the hosts' robots.txt is known here."""
    refused_by_guard: int
    """They lead to addresses that nothing is fetched from: a submit would be refused."""
    refused_urls: list[str]
    """The first hundred of both."""
    sources: list[PlannedAtSource]
    """The last to end first; at most a hundred."""
    reasons: list[Reason]
    """What a person would have to see to first: pauses, or that there is no worker."""
    predicted_finish_at: str | None = None
    """If workers work; left out if a source is paused, since nobody can tell then."""
    finish_by: str | None = None
    in_time: bool | None = None
    suggestion: Suggestion | None = None


IF_DRY: dict[int | str, dict[str, Any]] = {
    200: {"model": PlannedJob, "description": "A `dry_run`: nothing was submitted"}
}


def planned(plan: Plan, finish_by: int | None) -> Response:
    body = _planned(plan, finish_by).model_dump_json(exclude_none=True)
    return Response(body, media_type="application/json")


def _planned(plan: Plan, finish_by: int | None) -> PlannedJob:
    return PlannedJob(
        total=plan.total,
        new=plan.new,
        cached=plan.cached,
        joined=plan.joined,
        refused_by_robots=plan.refused,
        refused_by_guard=len(plan.guarded),
        refused_urls=[*plan.guarded, *plan.refused_by_robots][:SHOWN],
        sources=[
            PlannedAtSource(
                source=source.name,
                pages=source.pages,
                ahead=source.ahead,
                predicted_start_at=rfc3339_or_none(
                    source.first_start_at if not source.paused else None
                ),
                predicted_finish_at=rfc3339_or_none(
                    source.last_start_at if not source.paused else None
                ),
            )
            for source in plan.sources[:SHOWN]
        ],
        reasons=reasons(plan.blockers),
        predicted_finish_at=rfc3339_or_none(plan.finish_at),
        finish_by=rfc3339_or_none(finish_by),
        in_time=plan.advice is None if finish_by is not None and plan.finish_at else None,
        suggestion=_suggestion(plan.advice) if plan.advice is not None else None,
    )


def _suggestion(advice: Advice) -> Suggestion:
    delay = advice.delay_needed
    return Suggestion(
        source=advice.source,
        pages_in_time=advice.pages_in_time,
        with_priority_1_finish_at=rfc3339_or_none(advice.with_priority_1_at),
        min_delay_seconds_needed=delay / SECOND if delay is not None else None,
        requests_per_hour_needed=advice.per_hour_needed,
        without_respectful_hours_finish_at=rfc3339_or_none(advice.without_hours_at),
    )
