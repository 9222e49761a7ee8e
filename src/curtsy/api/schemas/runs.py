"""Responses of the runs door, in their envelope: runs, sites and the scheduler's status."""

from collections.abc import Sequence
from typing import Any, Generic, Literal, TypeVar, cast

import orjson
from fastapi import Response
from pydantic import BaseModel, ConfigDict

from curtsy.clock import SECOND, rfc3339, rfc3339_or_none
from curtsy.errors import BadRequest
from curtsy.events.run_log import task_id
from curtsy.requests import examples
from curtsy.requests.runs import MOST_RESULTS_IN_SYNC, Mode, ScrapeRequest
from curtsy.schedules.firer import Fired
from curtsy.schedules.listing import ScheduleCounts
from curtsy.sites import runs, site
from curtsy.sites.records import changes_of, sightings
from curtsy.store import Connection
from curtsy.timetable import Cron, Every, from_json

T = TypeVar("T")
RunStatus = Literal["queued", "running", "succeeded", "partial", "failed", "cancelled"]


class Envelope(BaseModel, Generic[T]):
    """The envelope of a successful response. Errors are problem documents without an envelope."""

    status: Literal["success"] = "success"
    data: T


class RunStarted(BaseModel):
    model_config = ConfigDict(json_schema_extra=examples.shown(examples.RUN_STARTED))

    task_id: str
    run_id: str
    status: RunStatus
    execution_mode: Mode


class Changes(BaseModel):
    """How the records changed since the last run of the same search."""

    new: int
    changed: int
    same: int
    removed: int


class Run(RunStarted):
    """A run of a site, with its results."""

    model_config = ConfigDict(json_schema_extra=None)

    site_name: str
    trigger: Literal["schedule", "manual"]
    site_schedule_id: str | None
    requested_pages: int
    completed_pages: int
    errors_count: int
    message: str | None
    started_at: str | None
    finished_at: str | None
    changes: Changes | None
    """Null: the run has not ended yet."""
    results: list[dict[str, Any]]
    """Records. In each, `_change` is `new`, `changed`, `same` or `removed`, and `_key` identifies
    the record across runs."""


class Site(BaseModel):
    """A site that can be scraped by name."""

    site_name: str
    enabled: bool
    interval_minutes: int | None
    """The current interval of its schedule; null: the site uses `cron`, or has no schedule."""
    cron: str | None
    min_pause_seconds: float
    max_pause_seconds: float
    max_retries: int
    last_run_at: str | None
    next_run_at: str | None
    site_schedule_id: str | None
    search: list[str]
    """The search fields that a run accepts."""


class Sites(BaseModel):
    sites: list[Site]


class Queued(BaseModel):
    """A slot that was due, and its outcome."""

    schedule: str
    fire_at: str
    outcome: str
    """`fired`, or why the slot did not fire: `skipped`, `refused`."""
    job_id: str | None
    message: str | None


class SchedulerTick(BaseModel):
    queued: list[Queued]
    """The slots that were due, with their outcomes."""


class SchedulerStatus(BaseModel):
    schedulers: int
    """Live scheduler processes."""
    schedules: int
    enabled: int
    next_run_at: str | None
    last_run_at: str | None
    fired_last_hour: int
    late_last_hour: int
    """Slots that fired more than a second late."""
    worst_lag_seconds: float | None
    """The largest delay in the last hour."""


def enveloped(data: BaseModel, status: int = 200) -> Response:
    body = Envelope[Any](data=data).model_dump_json()
    return Response(body, status, media_type="application/json")


def started(run: str, mode: Mode) -> RunStarted:
    return RunStarted(task_id=task_id(run), run_id=run, status="queued", execution_mode=mode)


def run_of(connection: Connection, row: runs.SiteRun) -> Run:
    params = orjson.loads(row.params)
    wanted = runs.wanted_by(row.params)
    found = changes_of(connection, row.id, wanted=wanted)
    is_known = row.gathered_at is not None or any(found.values())
    return Run(
        task_id=task_id(row.public_id), run_id=row.public_id, status=_status(row.state),
        execution_mode=params.get("mode", "async"),
        site_name=row.site or params.get("site_name", ""),
        trigger="schedule" if row.trigger == "schedule" else "manual",
        site_schedule_id=row.schedule, requested_pages=row.total,
        completed_pages=row.done, errors_count=row.failed, message=row.message,
        started_at=rfc3339_or_none(row.started_at), finished_at=rfc3339_or_none(row.finished_at),
        changes=Changes(**found) if is_known else None,
        results=sightings(connection, row.id, most=wanted) if is_known else [],
    )  # fmt: skip


def limited_for_sync(connection: Connection, request: ScrapeRequest) -> ScrapeRequest:
    """Limits `results_wanted` of a request in sync mode, also where the site's default is higher.
    The page of a country is a single page and needs no limit."""
    known = site.known_site(connection, request.site_name)
    if (
        known is not None
        and known.spec.country_url
        and (request.country or known.spec.defaults.country)
    ):
        return request
    if (request.results_wanted or 0) > MOST_RESULTS_IN_SYNC:
        raise BadRequest([f"With mode=sync results_wanted is at most {MOST_RESULTS_IN_SYNC}."])
    if known is None or request.results_wanted is not None:
        return request
    wanted = known.spec.defaults.results_wanted or runs.RESULTS_WANTED
    return request.model_copy(update={"results_wanted": min(wanted, MOST_RESULTS_IN_SYNC)})


def site_of(listed: site.ListedSite) -> Site:
    found, spec = listed.site, listed.site.spec
    rule = from_json(listed.rule) if listed.rule is not None else None
    return Site(
        site_name=found.name, enabled=found.enabled,
        interval_minutes=rule.minutes if isinstance(rule, Every) else None,
        cron=rule.line if isinstance(rule, Cron) else None,
        min_pause_seconds=spec.min_pause_seconds,
        max_pause_seconds=spec.max_pause_seconds, max_retries=spec.max_retries,
        last_run_at=rfc3339_or_none(listed.last_run_at),
        next_run_at=rfc3339_or_none(listed.next_fire_at),
        site_schedule_id=listed.schedule,
        search=list(spec.search_fields()),
    )  # fmt: skip


def tick_of(fired: Sequence[Fired]) -> SchedulerTick:
    return SchedulerTick(queued=[
        Queued(schedule=slot.schedule.name, fire_at=rfc3339(slot.fire_at), outcome=slot.outcome,
               job_id=slot.job, message=slot.message)
        for slot in fired
    ])  # fmt: skip


def scheduler_status(found: ScheduleCounts) -> SchedulerStatus:
    worst = found.worst_lag
    return SchedulerStatus(
        schedulers=found.schedulers, schedules=found.schedules, enabled=found.enabled,
        next_run_at=rfc3339_or_none(found.next_at), last_run_at=rfc3339_or_none(found.last_at),
        fired_last_hour=found.fired, late_last_hour=found.late,
        worst_lag_seconds=worst / SECOND if worst is not None else None,
    )  # fmt: skip


def _status(state: str) -> RunStatus:
    return "queued" if state == "scheduled" else cast("RunStatus", state)
