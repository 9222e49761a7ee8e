"""Webhook deliveries of a job: lists and replays them, and returns the signing secret."""

from operator import attrgetter
from typing import Annotated

from fastapi import APIRouter, Path
from pydantic import BaseModel

from curtsy.api.backend import TheBackend
from curtsy.api.middleware.json_route import JsonRoute
from curtsy.api.problems import problems
from curtsy.api.routes.jobs import JobId
from curtsy.clock import rfc3339, rfc3339_or_none
from curtsy.events.webhooks import StoredDelivery, deliveries_of
from curtsy.model.masks import masked_url

router = APIRouter(route_class=JsonRoute, generate_unique_id_function=attrgetter("name"))

DeliveryId = Annotated[int, Path(ge=1, le=2**62)]


class Delivery(BaseModel):
    """A webhook request about the end of a job."""

    id: int
    url: str
    """Without path and query, which may contain a token."""
    state: str
    """`waiting`, `delivered` or `failed`."""
    round: int
    """Which end of the job the delivery reports: a job whose failures were retried ends again."""
    attempts: int
    status: int | None
    """The HTTP status of the last response."""
    error: str | None
    created_at: str
    next_attempt_at: str | None
    ended_at: str | None


class Deliveries(BaseModel):
    deliveries: list[Delivery]


class Replayed(BaseModel):
    delivery: int
    message: str


class SigningSecret(BaseModel):
    secret: str


@router.get("/jobs/{job_id}/webhooks", responses=problems(404))
async def list_webhook_deliveries(job: JobId, backend: TheBackend) -> Deliveries:
    """The webhook deliveries of a job: one for each time the job ended."""
    await backend.job(job)
    rows = await backend.read(lambda c: deliveries_of(c, job))
    return Deliveries(deliveries=[_delivery(row) for row in rows])


@router.post("/jobs/{job_id}/webhooks/{delivery}/replay", status_code=202,
             responses=problems(404, 409, 507))  # fmt: skip
async def replay_webhook_delivery(
    job: JobId, delivery: DeliveryId, backend: TheBackend
) -> Replayed:
    """Send a delivery again; 409 while it is still being tried."""
    await backend.job(job)
    await backend.replay_delivery(job, delivery)
    return Replayed(delivery=delivery, message="The delivery is queued again.")


@router.get("/webhooks/secret", responses=problems(507))
async def get_webhook_secret(backend: TheBackend) -> SigningSecret:
    """The secret with which this installation signs its webhooks."""
    return SigningSecret(secret=await backend.signing_secret())


def _delivery(row: StoredDelivery) -> Delivery:
    return Delivery(
        id=row.id, url=masked_url(row.url), state=row.state, round=row.round, attempts=row.attempts,
        status=row.status, error=row.error, created_at=rfc3339(row.created_at),
        next_attempt_at=rfc3339_or_none(row.next_at if row.state == "waiting" else None),
        ended_at=rfc3339(row.ended_at) if row.ended_at else None,
    )  # fmt: skip
