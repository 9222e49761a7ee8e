"""The fetch door's requests and answers."""

import hashlib
from typing import Any

import orjson
from fastapi import Response
from pydantic import BaseModel, ConfigDict, Field

from curtsy.api.content import as_base64, as_text, unpacked
from curtsy.api.reading import TOTAL_CAP
from curtsy.api.words import WORDS, FetchStatus
from curtsy.clock import SECOND, rfc3339
from curtsy.model.jobs import JobState
from curtsy.submit import JobRequest, PageRequest, Submitted

DOOR = "fetch"
LONGEST_MAX_AGE_SECONDS = 10**9


class FetchRequest(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    url: str
    max_age: int = Field(0, ge=0, le=LONGEST_MAX_AGE_SECONDS)
    """A copy no older than so many seconds will do."""
    priority: int = Field(5, ge=1, le=10)
    """1 is first."""


class FetchCreated(BaseModel):
    id: str
    url: str
    status: FetchStatus


class FetchJob(FetchCreated):
    door: str
    state: JobState
    content: str | None = None
    """Of a completed job: its text, or its bytes in base64."""
    content_encoding: str | None = None
    """`base64` where the content is not text."""
    content_type: str | None = None
    fetched_at: str | None = None
    error: str | None = None
    """Of a job in error: why, in a sentence."""


class ListedJob(FetchCreated):
    door: str
    state: JobState
    error: str | None = None
    created_at: str


class JobList(BaseModel):
    jobs: list[ListedJob]
    total: int
    total_is_capped: bool
    """There are more than `total`; they were not counted."""
    limit: int
    skip: int


class Cancelled(BaseModel):
    message: str


class Retried(BaseModel):
    message: str
    pages: int


def job_request(asked: FetchRequest, key: str | None) -> JobRequest:
    """`request_hash` stands for what is asked, not for how it was spelled."""
    asked_for = orjson.dumps(asked.model_dump(), option=orjson.OPT_SORT_KEYS)
    return JobRequest(
        door=DOOR,
        pages=[PageRequest(asked.url, asked.priority)],
        max_age=asked.max_age * SECOND,
        idempotency_key=key,
        request_hash=hashlib.blake2b(asked_for, digest_size=16).hexdigest(),
    )


def created(asked: FetchRequest, submitted: Submitted) -> Response:
    status = FetchStatus.QUEUED if submitted.new else FetchStatus.COMPLETED
    body = {"id": submitted.job, "url": asked.url, "status": status}
    headers = {"Location": f"/jobs/{submitted.job}"}
    if submitted.repeated:
        headers["Idempotent-Replayed"] = "true"
    return Response(orjson.dumps(body), 201, headers, "application/json")


def shown(row: Any) -> bytes:
    """The job as JSON. Large contents make it slow: not for the event loop."""
    body = _named(row)
    if row.content is not None:
        body |= _content(row)
    if row.fetched_at is not None:
        body["fetched_at"] = rfc3339(row.fetched_at)
    return orjson.dumps(body)


def listed(rows: list[Any], total: int, *, limit: int, skip: int) -> JobList:
    jobs = [ListedJob(**_named(row), created_at=rfc3339(row.created_at)) for row in rows]
    return JobList(jobs=jobs, total=min(total, TOTAL_CAP), total_is_capped=total > TOTAL_CAP,
                   limit=limit, skip=skip)  # fmt: skip


def _named(row: Any) -> dict[str, Any]:
    state = JobState(row.state)
    named = {"id": row.public_id, "url": row.url, "status": WORDS[state], "door": row.door,
             "state": state}  # fmt: skip
    return named if row.error is None else named | {"error": row.error}


def _content(row: Any) -> dict[str, Any]:
    content = unpacked(row.content, row.bytes)
    text = as_text(content, row.content_type, row.charset)
    if text is not None:
        return {"content": text, "content_type": row.content_type}
    return {"content": as_base64(content), "content_encoding": "base64",
            "content_type": row.content_type}  # fmt: skip
