"""The request body of the fetch door, and the job request that it becomes."""

from pydantic import ConfigDict, Field

from curtsy.clock import SECOND
from curtsy.jobs import JobRequest, PageRequest
from curtsy.model.roles import Caller
from curtsy.requests import examples
from curtsy.requests.body_fields import BODY_FIELDS, BodyFields, hashed, request_hash
from curtsy.requests.session_fields import Cookies, job_session

DOOR = "fetch"
LONGEST_MAX_AGE_SECONDS = 10**9
_NEWER_FIELDS = frozenset({"session", "cookies"})


class FetchRequest(BodyFields):
    model_config = ConfigDict(
        extra="forbid", strict=True, json_schema_extra=examples.shown(examples.FETCH_REQUEST)
    )

    url: str
    max_age: int = Field(0, ge=0, le=LONGEST_MAX_AGE_SECONDS)
    """Accept a stored copy that is at most this many seconds old."""
    priority: int = Field(5, ge=1, le=10)
    """1 is the highest."""
    session: bool = False
    """Fetch in a session: with a jar for cookies, after the login that the source declares."""
    cookies: Cookies | None = Field(None, repr=False)
    """A browser's cookies.txt, with which the session begins."""
    webhook_url: str | None = Field(None, max_length=8_000)
    """Receives a signed request when the job ends."""


def job_request(body: FetchRequest, key: str | None, caller: Caller) -> JobRequest:
    page_body = body.page_body()
    dump = body.model_dump(exclude_none=True, exclude=set(BODY_FIELDS))
    return JobRequest(
        door=DOOR,
        pages=[PageRequest(body.url, body.priority, body=page_body)],
        max_age=body.max_age * SECOND,
        user_id=caller.user_id,
        key_id=caller.key_id,
        webhook_url=body.webhook_url,
        session=job_session([body.url], session=body.session, cookies=body.cookies),
        idempotency_key=key,
        request_hash=request_hash(hashed(body, _NEWER_FIELDS, dump), [page_body]),
    )
