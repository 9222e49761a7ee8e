"""The fetch door's request body, and the job request it becomes."""

import hashlib

import orjson
from pydantic import BaseModel, ConfigDict, Field

from curtsy.clock import SECOND
from curtsy.jobs import JobRequest, PageRequest
from curtsy.model.roles import Caller
from curtsy.requests import examples

DOOR = "fetch"
LONGEST_MAX_AGE_SECONDS = 10**9


class FetchRequest(BaseModel):
    model_config = ConfigDict(
        extra="forbid", strict=True, json_schema_extra=examples.shown(examples.FETCH_REQUEST)
    )

    url: str
    max_age: int = Field(0, ge=0, le=LONGEST_MAX_AGE_SECONDS)
    """A copy no older than so many seconds will do."""
    priority: int = Field(5, ge=1, le=10)
    """1 is first."""
    webhook_url: str | None = Field(None, max_length=8_000)
    """Is told of the job's end, with a signature."""


def job_request(asked: FetchRequest, key: str | None, caller: Caller) -> JobRequest:
    """`request_hash` stands for what is asked, not for how it was spelled."""
    asked_for = orjson.dumps(asked.model_dump(exclude_none=True), option=orjson.OPT_SORT_KEYS)
    return JobRequest(
        door=DOOR,
        pages=[PageRequest(asked.url, asked.priority)],
        max_age=asked.max_age * SECOND,
        user_id=caller.user_id,
        key_id=caller.key_id,
        webhook_url=asked.webhook_url,
        idempotency_key=key,
        request_hash=hashlib.blake2b(asked_for, digest_size=16).hexdigest(),
    )
