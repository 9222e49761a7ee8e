"""The articles door's request body, and the job request it becomes."""

import hashlib
from typing import Annotated, Any

import orjson
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
)

from curtsy.clock import SECOND
from curtsy.jobs import JobRequest, PageRequest
from curtsy.model.options import checked_headers
from curtsy.model.roles import Caller
from curtsy.requests import examples
from curtsy.requests.instants import Moment, yet_to_come

DOOR = "articles"
LONGEST_MAX_AGE_SECONDS = 10**9
MOST_TAGS = 20
MOST_HEADERS = 20
Label = Annotated[str, Field(max_length=300)]
Tag = Annotated[str, Field(min_length=1, max_length=100)]


class Article(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    url: str
    source: Label | None = None
    """A label on the result; it chooses no policy."""
    category: Label | None = None
    priority: int = Field(5, ge=1, le=10)
    """1 is first."""


MANY = 1_000
_MANY_ARTICLES = TypeAdapter(Annotated[list[Article], FailFast()])


def _with_few_problems(given: Any, check: ValidatorFunctionWrapHandler) -> Any:
    """Each problem is told, but of many articles only the first: an answer must not be larger
    than its question."""
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

    articles: Annotated[list[Article], WrapValidator(_with_few_problems)]
    max_age: int | None = Field(None, ge=0, le=LONGEST_MAX_AGE_SECONDS)
    """A stored article no older than so many seconds will do (`PAGE_MAX_AGE`)."""
    ignore_cache: bool = False
    webhook_url: str | None = Field(None, max_length=8_000)
    """Is told of the job's end, with a signature."""
    finish_by: Moment | None = None
    """A wish: the status says whether it may be expected to come true, a `dry_run` what would
    make it."""
    dry_run: bool = False
    """Submit nothing: say what it would come to."""
    name: str | None = Field(None, max_length=300)
    tags: list[Tag] = Field(default_factory=list, max_length=MOST_TAGS)
    headers: Annotated[dict[str, str], AfterValidator(checked_headers)] = Field(
        default_factory=dict, max_length=MOST_HEADERS
    )
    """Sent with every request to the pages' own hosts."""


def job_request(
    asked: ArticlesRequest, *, key: str | None, page_max_age: int, caller: Caller, now: int
) -> JobRequest:
    asked_for = orjson.dumps(asked.model_dump(), option=orjson.OPT_SORT_KEYS)
    max_age = page_max_age if asked.max_age is None else asked.max_age * SECOND
    return JobRequest(
        door=DOOR,
        pages=[PageRequest(a.url, a.priority, a.source, a.category) for a in asked.articles],
        scraper="article",
        max_age=0 if asked.ignore_cache else max_age,
        user_id=caller.user_id,
        key_id=caller.key_id,
        name=asked.name,
        webhook_url=asked.webhook_url,
        finish_by=yet_to_come(asked.finish_by, "finish_by", now),
        tags=tuple(dict.fromkeys(asked.tags)),
        headers=tuple(sorted(asked.headers.items())),
        idempotency_key=key,
        request_hash=hashlib.blake2b(asked_for, digest_size=16).hexdigest(),
    )
