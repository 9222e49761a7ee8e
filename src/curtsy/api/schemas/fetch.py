"""Responses of the fetch door."""

from typing import Any

import orjson
from fastapi import Response
from pydantic import BaseModel, ConfigDict

from curtsy.api.schemas.content import as_base64, as_text, decompressed
from curtsy.api.schemas.idempotency import REPLAYED
from curtsy.api.schemas.jobs import Job
from curtsy.clock import rfc3339
from curtsy.jobs import Submitted
from curtsy.jobs.job import FetchResult, StoredDocument
from curtsy.model.job_states import JobState
from curtsy.model.status_words import FETCH
from curtsy.requests import examples
from curtsy.requests.fetch import FetchRequest


class FetchCreated(BaseModel):
    model_config = ConfigDict(json_schema_extra=examples.shown(examples.FETCH_CREATED))

    id: str
    url: str
    status: str


def created(request: FetchRequest, submitted: Submitted) -> Response:
    status = FETCH[JobState.QUEUED if submitted.new else JobState.SUCCEEDED]
    body = {"id": submitted.job, "url": request.url, "status": status}
    headers = {"Location": f"/jobs/{submitted.job}"}
    if submitted.replayed:
        headers |= REPLAYED
    return Response(orjson.dumps(body), 201, headers, "application/json")


def with_content(job: Job, result: FetchResult) -> bytes:
    """Returns the job as JSON. Slow for large content: call it in a thread."""
    body = job.model_dump(exclude_none=True, exclude={"created_at"})
    if result.document is not None:
        body |= _content(result.document)
    if result.fetched_at is not None:
        body["fetched_at"] = rfc3339(result.fetched_at)
    return orjson.dumps(body)


def _content(document: StoredDocument) -> dict[str, Any]:
    content = decompressed(document.content, document.bytes)
    text = as_text(content, document.content_type, document.charset)
    if text is not None:
        return {"content": text, "content_type": document.content_type}
    return {"content": as_base64(content), "content_encoding": "base64",
            "content_type": document.content_type}  # fmt: skip
