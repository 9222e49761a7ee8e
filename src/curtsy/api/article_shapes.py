"""The articles door's requests and answers, as its document has them."""

import hashlib
import re
from typing import Annotated, Any

import orjson
from fastapi import Response
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

from curtsy.api.words import word
from curtsy.clock import SECOND
from curtsy.model.jobs import JobState
from curtsy.model.roles import Caller
from curtsy.submit import JobRequest, PageRequest, Submitted

DOOR = "articles"
LONGEST_MAX_AGE_SECONDS = 10**9
MOST_TAGS = 20
MOST_HEADERS = 20
OUR_OWN_HEADERS = frozenset({
    "host", "connection", "content-length", "transfer-encoding", "te", "trailer", "upgrade",
    "expect", "keep-alive", "proxy-connection", "proxy-authorization", "accept-encoding",
    "if-none-match", "if-modified-since", "if-match", "if-range", "range", "cookie",
})  # fmt: skip
"""What we send or leave out ourselves."""

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")
_VALUE = re.compile(r"[ -~\t]{0,4000}")


def checked_headers(given: dict[str, str]) -> dict[str, str]:
    for name, value in given.items():
        if not _TOKEN.fullmatch(name) or not _VALUE.fullmatch(value):
            raise ValueError(f"{name[:100]!r} is not a header that can be sent")
        if name.lower() in OUR_OWN_HEADERS:
            raise ValueError(f"{name} is sent, or left out, by curtsy itself")
    return given


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


_EXAMPLE: dict[str, Any] = {
    "articles": [
        {"url": "https://example.com/article1", "source": "TechNews", "category": "AI",
         "priority": 1},
        {"url": "https://example.com/article2", "source": "TechNews", "category": "ML",
         "priority": 2},
    ]
}  # fmt: skip


class ArticlesRequest(BaseModel):
    model_config = ConfigDict(
        extra="forbid", strict=True, json_schema_extra={"examples": [_EXAMPLE]}
    )

    articles: Annotated[list[Article], WrapValidator(_with_few_problems)]
    max_age: int | None = Field(None, ge=0, le=LONGEST_MAX_AGE_SECONDS)
    """A stored article no older than so many seconds will do (`PAGE_MAX_AGE`)."""
    ignore_cache: bool = False
    webhook_url: str | None = Field(None, max_length=8_000)
    """Is told of the job's end, with a signature."""
    name: str | None = Field(None, max_length=300)
    tags: list[Tag] = Field(default_factory=list, max_length=MOST_TAGS)
    headers: Annotated[dict[str, str], AfterValidator(checked_headers)] = Field(
        default_factory=dict, max_length=MOST_HEADERS
    )
    """Sent with every request to the pages' own hosts."""


class ArticlesCreated(BaseModel):
    job_id: str
    status: str
    total_articles: int
    new_articles: int
    cached_articles: int
    message: str


class ScrapedArticle(BaseModel):
    """With what else the scraper found: byline, date, language, markdown, site, description."""

    model_config = ConfigDict(extra="allow")

    article_id: str
    url: str
    source: str | None
    category: str | None
    title: str | None
    content: str | None
    scraped_at: str
    cached: bool


class FailedArticle(BaseModel):
    article_id: str
    url: str
    source: str | None
    category: str | None
    error: str
    kind: str
    attempted_at: str


class ArticleResults(BaseModel):
    job_id: str
    status: str
    state: JobState
    door: str
    total_articles: int
    successful: int
    failed: int
    results: list[ScrapedArticle]
    failed_articles: list[FailedArticle]
    next_cursor: str | None = None
    """There is more: ask again with this as `cursor`."""


def job_request(
    asked: ArticlesRequest, key: str | None, page_max_age: int, caller: Caller
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
        tags=tuple(dict.fromkeys(asked.tags)),
        headers=tuple(sorted(asked.headers.items())),
        idempotency_key=key,
        request_hash=hashlib.blake2b(asked_for, digest_size=16).hexdigest(),
    )


def created(submitted: Submitted) -> Response:
    state = JobState.QUEUED if submitted.new else JobState.SUCCEEDED
    body: dict[str, Any] = {
        "job_id": submitted.job, "status": word(DOOR, state, submitted.cached),
        "total_articles": submitted.total, "new_articles": submitted.new,
        "cached_articles": submitted.cached, "message": "Job submitted successfully",
    }  # fmt: skip
    headers = {"Location": f"/jobs/{submitted.job}"}
    if submitted.repeated:
        headers["Idempotent-Replayed"] = "true"
    return Response(orjson.dumps(body), 201, headers, "application/json")
