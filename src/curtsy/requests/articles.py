"""The request body of the articles door, and the job request that it becomes."""

from typing import Annotated, Any, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    FailFast,
    Field,
    TypeAdapter,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    model_validator,
)

from curtsy.clock import SECOND
from curtsy.errors import BadRequest
from curtsy.jobs import JobRequest, PageRequest
from curtsy.model.options import checked_headers
from curtsy.model.roles import Caller
from curtsy.requests import examples
from curtsy.requests.body_fields import BODY_FIELDS, BodyFields, hashed, request_hash
from curtsy.requests.instants import Moment, future_instant
from curtsy.requests.session_fields import Cookies, job_session

DOOR = "articles"
LONGEST_MAX_AGE_SECONDS = 10**9
MOST_TAGS = 20
MOST_HEADERS = 20
_NEWER_FIELDS = frozenset({"new_only", "session", "cookies"})
Label = Annotated[str, Field(max_length=300)]
Tag = Annotated[str, Field(min_length=1, max_length=100)]


class Article(BodyFields):
    model_config = ConfigDict(extra="forbid", strict=True)

    url: str
    source: Label | None = None
    """A label on the result; it does not select a policy."""
    category: Label | None = None
    priority: int = Field(5, ge=1, le=10)
    """1 is the highest."""


MANY = 1_000
_MANY_ARTICLES = TypeAdapter(Annotated[list[Article], FailFast()])


def _check_articles(given: Any, check: ValidatorFunctionWrapHandler) -> Any:
    """Reports every problem, but for many articles only the first one: an answer must not be larger
    than its request."""
    if not isinstance(given, list) or len(given) <= MANY:
        return check(given)
    try:
        return _MANY_ARTICLES.validate_python(given)
    except ValidationError as errors:
        first = errors.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise ValueError(f"at {where}: {first['msg']}") from None


class ArticlesRequest(BaseModel):
    model_config = ConfigDict(
        extra="forbid", strict=True, json_schema_extra=examples.shown(examples.ARTICLES_REQUEST)
    )

    articles: Annotated[list[Article], WrapValidator(_check_articles)]
    max_age: int | None = Field(None, ge=0, le=LONGEST_MAX_AGE_SECONDS)
    """Accept a stored article that is at most this many seconds old (default: `PAGE_MAX_AGE`)."""
    ignore_cache: bool = False
    new_only: bool = False
    """Leave out articles that the store has, whichever job got them and however old they are."""
    webhook_url: str | None = Field(None, max_length=8_000)
    """Receives a signed request when the job ends."""
    finish_by: Moment | None = None
    """The desired end of the job: the status says whether it is likely to be met, and a `dry_run`
    which changes would meet it."""
    dry_run: bool = False
    """Submit nothing, but return what the job would do."""
    name: str | None = Field(None, max_length=300)
    tags: list[Tag] = Field(default_factory=list, max_length=MOST_TAGS)
    headers: Annotated[dict[str, str], AfterValidator(checked_headers)] = Field(
        default_factory=dict, max_length=MOST_HEADERS
    )
    """Sent with every request to a page's own origin (scheme, host and port). A redirect from http
    to https keeps them, any other redirect to another origin does not."""
    session: bool = False
    """Fetch in a session: with a jar for cookies, after the login that the source declares."""
    cookies: Cookies | None = Field(None, repr=False)
    """A browser's cookies.txt, with which the session begins."""

    @model_validator(mode="after")
    def _check_ages(self) -> Self:
        if self.new_only and (self.ignore_cache or self.max_age is not None):
            raise ValueError("new_only takes nothing from the store: leave out max_age and "
                             "ignore_cache")  # fmt: skip
        return self


def door_request(
    body: ArticlesRequest, *, key: str | None, page_max_age: int, caller: Caller, now: int
) -> JobRequest:
    """The job of a request at the door. Its session is its own, so that the store has no page of
    it; the jobs of a schedule share one, and there `new_only` leaves out what earlier runs got.
    Raises `BadRequest`."""
    if body.new_only and (body.session or body.cookies is not None):
        why = "what a session fetches is no other job's, so that every page would be new"
        raise BadRequest([f"new_only excludes session and cookies: {why}."])
    return job_request(body, key=key, page_max_age=page_max_age, caller=caller, now=now)


def job_request(
    body: ArticlesRequest, *, key: str | None, page_max_age: int, caller: Caller, now: int
) -> JobRequest:
    dump = body.model_dump(exclude={"articles": {"__all__": set(BODY_FIELDS)}})
    bodies = [article.page_body() for article in body.articles]
    max_age = page_max_age if body.max_age is None else body.max_age * SECOND
    return JobRequest(
        door=DOOR,
        pages=[
            PageRequest(a.url, a.priority, a.source, a.category, body=page_body)
            for a, page_body in zip(body.articles, bodies, strict=True)
        ],
        scraper="article",
        max_age=0 if body.ignore_cache else max_age,
        new_only=body.new_only,
        user_id=caller.user_id,
        key_id=caller.key_id,
        name=body.name,
        webhook_url=body.webhook_url,
        finish_by=future_instant(body.finish_by, "finish_by", now),
        tags=tuple(dict.fromkeys(body.tags)),
        headers=tuple(sorted(body.headers.items())),
        session=job_session(
            (article.url for article in body.articles), session=body.session, cookies=body.cookies
        ),
        idempotency_key=key,
        request_hash=request_hash(hashed(body, _NEWER_FIELDS, dump), bodies),
    )
