"""The runs door's requests and answers, as its document has them."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

RunStatus = Literal["queued", "running", "succeeded", "partial", "failed", "cancelled"]
Mode = Literal["async", "sync"]

MOST_RESULTS = 1_000
MOST_RESULTS_IN_SYNC = 25

_EXAMPLE: dict[str, Any] = {
    "site_name": "indeed",
    "search_term": "python developer",
    "location": "remote",
    "is_remote": True,
    "results_wanted": 50,
}


class ScrapeRequest(BaseModel):
    """What to look for on a site that was declared."""

    model_config = ConfigDict(
        extra="forbid", strict=True, json_schema_extra={"examples": [_EXAMPLE]}
    )

    site_name: str = Field(min_length=1, max_length=100)
    search_term: str = Field(min_length=1, max_length=300)
    location: str | None = Field(None, min_length=1, max_length=300)
    is_remote: bool = False
    results_wanted: int = Field(15, ge=1, le=MOST_RESULTS)
    """With `mode=sync` at most 25."""


class RunStarted(BaseModel):
    task_id: str
    run_id: str
    status: RunStatus
    execution_mode: Mode


class Run(RunStarted):
    trigger: Literal["schedule", "manual"]
    site_schedule_id: str | None
    requested_pages: int
    completed_pages: int
    errors_count: int
    message: str | None
    started_at: str | None
    finished_at: str | None
    results: list[dict[str, Any]]


class Site(BaseModel):
    site_name: str
    enabled: bool
    interval_minutes: int
    min_pause_seconds: int
    max_pause_seconds: int
    max_retries: int
    last_run_at: str | None
    next_run_at: str | None


class Sites(BaseModel):
    sites: list[Site]


class SchedulerTick(BaseModel):
    queued: list[RunStarted]
    """What was due, and so was queued."""


class SchedulerStatus(BaseModel):
    schedulers: int
    """Processes that keep the schedules."""
    schedules: int
    enabled: int
    next_run_at: str | None
    last_run_at: str | None
