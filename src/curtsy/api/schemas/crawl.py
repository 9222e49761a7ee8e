"""Responses of the crawl door."""

from fastapi import Response
from pydantic import BaseModel, ConfigDict

from curtsy.api.schemas.idempotency import REPLAYED
from curtsy.clock import rfc3339
from curtsy.jobs import Submitted
from curtsy.requests import examples
from curtsy.schedules.first_job import ScheduledJob


class CrawlCreated(BaseModel):
    model_config = ConfigDict(json_schema_extra=examples.shown(examples.CRAWL_CREATED))

    job_id: str
    scheduled: bool
    cached: bool
    """True: an equal request created this job a short while ago."""
    cached_at: str | None
    logs_url: str
    status_url: str


class CrawlScheduled(BaseModel):
    model_config = ConfigDict(json_schema_extra=examples.shown(examples.CRAWL_SCHEDULED))

    job_id: str
    """The job of the first slot; each later slot gets a job of its own."""
    scheduled: bool
    next_run: str | None
    schedule_id: str | None
    cached: bool
    """True: an equal request created this schedule a short while ago."""
    cached_at: str | None
    logs_url: str
    status_url: str


def scheduled(job: ScheduledJob) -> Response:
    body = CrawlScheduled(
        job_id=job.job, scheduled=True, schedule_id=job.schedule,
        next_run=rfc3339(job.next_at) if job.next_at is not None else None,
        cached=job.repeated_at is not None,
        cached_at=rfc3339(job.repeated_at) if job.repeated_at is not None else None,
        logs_url=f"/jobs/{job.job}/logs", status_url=f"/jobs/{job.job}/status",
    )  # fmt: skip
    headers = REPLAYED if job.replayed else None
    return Response(body.model_dump_json(), 202, headers, "application/json")


def created(submitted: Submitted) -> Response:
    at = submitted.created_at
    body = CrawlCreated(
        job_id=submitted.job, scheduled=False, cached=submitted.repeated,
        cached_at=rfc3339(at) if at is not None else None,
        logs_url=f"/jobs/{submitted.job}/logs", status_url=f"/jobs/{submitted.job}/status",
    )  # fmt: skip
    headers = REPLAYED if submitted.replayed else None
    return Response(body.model_dump_json(), 200, headers, "application/json")
