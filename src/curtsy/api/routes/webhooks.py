"""Webhook deliveries of a job: lists and replays them; shows and rotates the signing secrets."""

from operator import attrgetter
from typing import Annotated

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, ConfigDict, Field

from curtsy.api.auth.middleware import TheCaller
from curtsy.api.backend import TheBackend
from curtsy.api.middleware.json_route import JsonRoute
from curtsy.api.problems import problems
from curtsy.api.routes.jobs import JobId
from curtsy.clock import HOUR, rfc3339, rfc3339_or_none
from curtsy.errors import NotAllowed
from curtsy.events.webhook_secrets import SigningSecret
from curtsy.events.webhooks import StoredDelivery, deliveries_of
from curtsy.model.masks import masked_url
from curtsy.model.roles import Caller, Role
from curtsy.requests import examples

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


class UsersSecret(BaseModel):
    """The secret that signs the webhooks of a user's jobs."""

    user_id: str | None
    """Null: the jobs that no user owns."""
    secret: str
    old_secret_until: str | None
    """Until then deliveries have a second signature, with the secret before the last rotation."""


class Rotation(BaseModel):
    model_config = ConfigDict(
        extra="forbid", strict=True, json_schema_extra=examples.shown(examples.ROTATION)
    )

    grace_hours: int = Field(24, ge=0, le=720)
    """For which the old secret signs, too; 0: it ends at once."""


WhoseSecret = Annotated[
    str | None,
    Query(max_length=200, description="Another user, for admins; empty: the jobs of no user."),
]


@router.get("/jobs/{job_id}/webhooks", responses=problems(404))
async def list_webhook_deliveries(job: JobId, backend: TheBackend) -> Deliveries:
    """The webhook deliveries of a job: one for each time the job ended."""
    await backend.job(job)
    rows = await backend.read(lambda c: deliveries_of(c, job))
    return Deliveries(deliveries=[_delivery(row) for row in rows])


@router.post("/jobs/{job_id}/webhooks/{delivery}/replay", status_code=202,
             responses=problems(404, 409, 429, 507))  # fmt: skip
async def replay_webhook_delivery(
    job: JobId, delivery: DeliveryId, backend: TheBackend, caller: TheCaller
) -> Replayed:
    """Send a delivery again; 409 while it is still being tried, and after 100 attempts. A replay
    counts as a page against the quota of the key."""
    await backend.job(job)
    await backend.replay_delivery(job, delivery, caller)
    return Replayed(delivery=delivery, message="The delivery is queued again.")


@router.get("/webhooks/secret", responses=problems(507))
async def get_webhook_secret(
    backend: TheBackend, caller: TheCaller, user: WhoseSecret = None
) -> UsersSecret:
    """The secret with which the webhooks of your jobs are signed."""
    whose = _whose(caller, user)
    return _shown(whose, await backend.signing_secret(whose))


@router.post("/webhooks/secret/rotate", responses=problems(409, 507))
async def rotate_webhook_secret(
    backend: TheBackend, caller: TheCaller, body: Rotation, user: WhoseSecret = None
) -> UsersSecret:
    """Replace the secret. For a grace period deliveries are signed with both, each as a `v1`; 409
    for a grace period within another one."""
    whose = _whose(caller, user)
    grace = round(body.grace_hours * HOUR)
    return _shown(whose, await backend.rotate_signing_secret(whose, grace))


def _whose(caller: Caller, user: str | None) -> str | None:
    if user is None or user == caller.user_id:
        return caller.user_id
    if caller.role < Role.ADMIN:
        raise NotAllowed("Only admins see and rotate the webhook secrets of other users.")
    return user or None


def _shown(user: str | None, found: SigningSecret) -> UsersSecret:
    until = rfc3339_or_none(found.old_until)
    return UsersSecret(user_id=user, secret=found.secret, old_secret_until=until)


def _delivery(row: StoredDelivery) -> Delivery:
    return Delivery(
        id=row.id, url=masked_url(row.url), state=row.state, round=row.round, attempts=row.attempts,
        status=row.status, error=row.error, created_at=rfc3339(row.created_at),
        next_attempt_at=rfc3339_or_none(row.next_at if row.state == "waiting" else None),
        ended_at=rfc3339(row.ended_at) if row.ended_at else None,
    )  # fmt: skip
