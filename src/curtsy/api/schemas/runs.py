"""The runs door's requests and answers, as its document has them."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from curtsy.clock import SECOND, rfc3339
from curtsy.requests import examples
from curtsy.requests.runs import Mode
from curtsy.schedules.firer import Fired

RunStatus = Literal["queued", "running", "succeeded", "partial", "failed", "cancelled"]


class RunStarted(BaseModel):
    model_config = ConfigDict(json_schema_extra=examples.shown(examples.RUN_STARTED))

    task_id: str
    run_id: str
    status: RunStatus
    execution_mode: Mode


class Changes(BaseModel):
    """Since the last run of the same search."""

    new: int
    changed: int
    same: int
    removed: int


class Run(RunStarted):
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
    """None: it has not ended yet."""
    results: list[dict[str, Any]]
    """Records; in each `_change` says what became of it (`new`, `changed`, `same`, `removed`) and
    `_key` by what it is known again."""


class Site(BaseModel):
    site_name: str
    enabled: bool
    interval_minutes: int | None
    """Of its schedule, as it is by now; null: it goes by `cron`, or is scraped by hand only."""
    cron: str | None
    min_pause_seconds: float
    max_pause_seconds: float
    max_retries: int
    last_run_at: str | None
    next_run_at: str | None
    site_schedule_id: str | None
    search: list[str]
    """What a run of it can be told."""


class Sites(BaseModel):
    sites: list[Site]


class Queued(BaseModel):
    schedule: str
    fire_at: str
    outcome: str
    """`fired`, or why not: `skipped`, `refused`."""
    job_id: str | None
    message: str | None


class SchedulerTick(BaseModel):
    queued: list[Queued]
    """What was due, and what it came to."""


class SchedulerStatus(BaseModel):
    schedulers: int
    """Processes that keep the schedules."""
    schedules: int
    enabled: int
    next_run_at: str | None
    last_run_at: str | None
    fired_last_hour: int
    late_last_hour: int
    """By more than a second."""
    worst_lag_seconds: float | None
    """Of the last hour."""


def tick_of(fired: Sequence[Fired]) -> SchedulerTick:
    return SchedulerTick(queued=[
        Queued(schedule=one.schedule.name, fire_at=rfc3339(one.fire_at), outcome=one.outcome,
               job_id=one.job, message=one.message)
        for one in fired
    ])  # fmt: skip


def scheduler_status(found: Mapping[str, Any]) -> SchedulerStatus:
    def moment(name: str) -> str | None:
        return rfc3339(found[name]) if found[name] is not None else None

    worst = found["worst_lag"]
    return SchedulerStatus(
        schedulers=found["schedulers"], schedules=found["schedules"], enabled=found["enabled"],
        next_run_at=moment("next_at"), last_run_at=moment("last_at"),
        fired_last_hour=found["fired"], late_last_hour=found["late"],
        worst_lag_seconds=worst / SECOND if worst is not None else None,
    )  # fmt: skip
