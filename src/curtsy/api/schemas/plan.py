"""The response to a `dry_run`: what a job would do, and when it would end."""

from typing import Any

from fastapi import Response
from pydantic import BaseModel

from curtsy.api.schemas.why import Reason, reasons
from curtsy.clock import SECOND, rfc3339_or_none
from curtsy.explain.advice import Advice
from curtsy.explain.plan import SHOWN, Plan


class PlannedAtSource(BaseModel):
    """The part of a planned job at one source."""

    source: str
    pages: int
    ahead: int
    """Visits that would be fetched before the job's last page."""
    predicted_start_at: str | None = None
    predicted_finish_at: str | None = None
    """Both null: the source is paused."""


class Suggestion(BaseModel):
    """The job would end too late. Each of these changes alone would let it end in time, at the
    source that ends last; changes that would not suffice are left out."""

    source: str
    pages_in_time: int
    """How many of the job's pages would be in time without a change."""
    with_priority_1_finish_at: str | None = None
    """When the job would end if all its pages had priority 1."""
    min_delay_seconds_needed: float | None = None
    """The delay between two requests to the source."""
    requests_per_hour_needed: int | None = None
    without_respectful_hours_finish_at: str | None = None
    """When the job would end if the source had no `respectful_hours`."""


class PlannedJob(BaseModel):
    """The plan of a `dry_run`; nothing was submitted."""

    dry_run: bool = True
    total: int
    new: int
    cached: int
    """Stored pages no older than `max_age`, which would not be fetched."""
    joined: int
    """Pages that other jobs wait for already: they would be fetched once for all."""
    refused_by_robots: int
    """Pages that robots.txt forbids, as far as the robots.txt of their hosts is known here."""
    refused_by_guard: int
    """URLs at addresses that must not be fetched: a submit would be refused."""
    refused_urls: list[str]
    """The first hundred of both kinds."""
    sources: list[PlannedAtSource]
    """At most a hundred, the last to end first."""
    reasons: list[Reason]
    """What blocks the job until a person acts: pauses, or a lack of workers."""
    predicted_finish_at: str | None = None
    """Left out if a source is paused, since no prediction is possible."""
    assumes_worker: bool = False
    """True: no worker is running, so every predicted time holds only if one is started now."""
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
        assumes_worker=bool(plan.sources) and not plan.has_worker,
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
