"""The crawl door's requests and answers, as its document has them."""

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
    """The same was asked for a short while ago: this is that job."""
    cached_at: str | None
    logs_url: str
    status_url: str


class CrawlScheduled(BaseModel):
    model_config = ConfigDict(json_schema_extra=examples.shown(examples.CRAWL_SCHEDULED))

    job_id: str
    """Of the first slot; later ones have jobs of their own."""
    scheduled: bool
    next_run: str | None
    schedule_id: str | None
    cached: bool
    """The same was asked for a short while ago: this is what it came to."""
    cached_at: str | None
    logs_url: str
    status_url: str


def scheduled(made: ScheduledJob) -> Response:
    shape = CrawlScheduled(
        job_id=made.job, scheduled=True, schedule_id=made.schedule,
        next_run=rfc3339(made.next_at) if made.next_at is not None else None,
        cached=made.repeated_at is not None,
        cached_at=rfc3339(made.repeated_at) if made.repeated_at is not None else None,
        logs_url=f"/jobs/{made.job}/logs", status_url=f"/jobs/{made.job}/status",
    )  # fmt: skip
    headers = REPLAYED if made.replayed else None
    return Response(shape.model_dump_json(), 202, headers, "application/json")


def created(submitted: Submitted) -> CrawlCreated:
    at = submitted.created_at
    return CrawlCreated(
        job_id=submitted.job, scheduled=False, cached=submitted.repeated,
        cached_at=rfc3339(at) if at is not None else None,
        logs_url=f"/jobs/{submitted.job}/logs", status_url=f"/jobs/{submitted.job}/status",
    )  # fmt: skip
