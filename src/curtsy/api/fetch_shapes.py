"""The fetch door's requests and answers."""

import hashlib
from typing import Any

import orjson
from fastapi import Response
from pydantic import BaseModel, ConfigDict, Field

from curtsy.api import examples
from curtsy.api.content import as_base64, as_text, unpacked
from curtsy.api.idempotency import REPLAYED
from curtsy.api.job_shapes import Job
from curtsy.api.words import FETCH
from curtsy.clock import SECOND, rfc3339
from curtsy.model.jobs import JobState
from curtsy.model.roles import Caller
from curtsy.submit import JobRequest, PageRequest, Submitted

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


class FetchCreated(BaseModel):
    model_config = ConfigDict(json_schema_extra=examples.shown(examples.FETCH_CREATED))

    id: str
    url: str
    status: str


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


def created(asked: FetchRequest, submitted: Submitted) -> Response:
    status = FETCH[JobState.QUEUED if submitted.new else JobState.SUCCEEDED]
    body = {"id": submitted.job, "url": asked.url, "status": status}
    headers = {"Location": f"/jobs/{submitted.job}"}
    if submitted.replayed:
        headers |= REPLAYED
    return Response(orjson.dumps(body), 201, headers, "application/json")


def with_content(job: Job, row: Any) -> bytes:
    """The job as JSON. Large contents make it slow: not for the event loop."""
    body = job.model_dump(exclude_none=True, exclude={"created_at"})
    if row.content is not None:
        body |= _content(row)
    if row.fetched_at is not None:
        body["fetched_at"] = rfc3339(row.fetched_at)
    return orjson.dumps(body)


def _content(row: Any) -> dict[str, Any]:
    content = unpacked(row.content, row.bytes)
    text = as_text(content, row.content_type, row.charset)
    if text is not None:
        return {"content": text, "content_type": row.content_type}
    return {"content": as_base64(content), "content_encoding": "base64",
            "content_type": row.content_type}  # fmt: skip
