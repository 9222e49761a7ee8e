"""The request body of the crawl door, and the job request or schedule spec that it becomes."""

import hashlib
from typing import Annotated, Any

import orjson
from pydantic import AfterValidator, AliasChoices, BaseModel, ConfigDict, FailFast, Field

from curtsy.clock import SECOND
from curtsy.errors import BadRequest
from curtsy.frontier.crawls import Crawl
from curtsy.jobs import Claim, JobRequest, PageRequest
from curtsy.jobs.job_request import MAX_URLS
from curtsy.model.options import checked_headers, checked_params
from curtsy.model.roles import Caller
from curtsy.model.scope import Reach, scope_around
from curtsy.model.urls import BadUrl, Url, canonical
from curtsy.requests import examples
from curtsy.requests.articles import LONGEST_MAX_AGE_SECONDS, MOST_HEADERS, MOST_TAGS, Tag
from curtsy.requests.instants import Moment, future_instant
from curtsy.schedules.schedule import ScheduleSpec
from curtsy.timetable import BadRule, Cron, Once, Rule, checked, checked_zone

DOOR = "crawl"
UTC = "UTC"
MOST_PATTERNS = 50
MOST_DEPTH = 100
MOST_PAGES = 1_000_000

Pattern = Annotated[str, Field(min_length=1, max_length=500)]


class CrawlParams(BaseModel):
    """Parameters of the built-in spiders."""

    model_config = ConfigDict(extra="forbid", strict=True)

    scope: Reach = "host"
    """Follow links within the `page` (none), the `prefix`, `host` or `domain` of a start URL."""
    include: list[Pattern] = Field(default_factory=list, max_length=MOST_PATTERNS)
    """Only URLs that match one of these; `*` matches any characters."""
    exclude: list[Pattern] = Field(default_factory=list, max_length=MOST_PATTERNS)
    max_pages: int = Field(10_000, ge=1, le=MOST_PAGES)
    priority: int = Field(5, ge=1, le=10)
    max_age: int | None = Field(None, ge=0, le=LONGEST_MAX_AGE_SECONDS)
    """Accept a stored copy, at most this many seconds old, of pages at the last depth, whose links
    are not followed (default: `CRAWL_CACHE_TTL`)."""
    headers: Annotated[dict[str, str], AfterValidator(checked_headers)] = Field(
        default_factory=dict, max_length=MOST_HEADERS
    )
    recipe: Annotated[dict[str, Any], AfterValidator(checked_params)] | None = None
    """For the spider `listing`: how to parse its pages."""
    args: Annotated[dict[str, Any], AfterValidator(checked_params)] = Field(
        default_factory=dict, max_length=100
    )
    """For a custom spider: passed to it as its page's `params`."""

    def scraper_params(self) -> dict[str, Any]:
        return self.args | ({"recipe": self.recipe} if self.recipe is not None else {})


class CrawlRequest(BaseModel):
    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        json_schema_extra=examples.shown(examples.CRAWL_NOW, examples.CRAWL_LATER),
    )

    user_id: str | None = Field(None, min_length=1, max_length=200)
    """The owner of the crawl; ignored if the request has an API key with a user."""
    spider: str = Field(min_length=1, max_length=200)
    start_urls: Annotated[list[str], FailFast()] = Field(min_length=1, max_length=MAX_URLS)
    depth: int = Field(0, ge=0, le=MOST_DEPTH)
    """How many links to follow from a start URL; 0 fetches only the start URLs."""
    schedule_at: Moment | None = None
    """When the schedule starts; without `interval` the crawl runs once, at this instant."""
    interval: str | None = Field(
        None, max_length=200, validation_alias=AliasChoices("interval", "cron")
    )
    """A cron line, or `@daily` and the like: the crawl is repeated."""
    timezone: str | None = Field(None, max_length=100)
    """The time zone of `interval` (default: UTC)."""
    ignore_cache: bool = False
    """Start a new crawl, whatever was crawled before, and fetch every page."""
    params: CrawlParams = Field(default_factory=lambda: CrawlParams.model_validate({}))
    webhook_url: str | None = Field(None, max_length=8_000)
    """Receives a signed request when the job ends."""
    finish_by: Moment | None = None
    """The desired end of the job: the status says whether it is likely to be met."""
    dry_run: bool = False
    """Submit nothing, but return what the start URLs would do. Linked pages are not known yet."""
    name: str | None = Field(None, max_length=300)
    tags: list[Tag] = Field(default_factory=list, max_length=MOST_TAGS)


def job_request(
    body: CrawlRequest, *, key: str | None, caller: Caller, fresh: bool, cache_ttl: int, now: int
) -> JobRequest:
    """With `fresh`, earlier crawls and stored pages are ignored."""
    user_id = caller.user_id or body.user_id
    params = body.params
    max_age = cache_ttl if params.max_age is None else params.max_age * SECOND
    crawl_hash = _hash(body, user_id)
    return JobRequest(
        door=DOOR,
        pages=[PageRequest(url, params.priority) for url in body.start_urls],
        scraper=body.spider,
        max_age=0 if fresh else max_age,
        user_id=user_id,
        key_id=caller.key_id,
        name=body.name,
        webhook_url=body.webhook_url,
        finish_by=future_instant(body.finish_by, "finish_by", now),
        tags=tuple(dict.fromkeys(body.tags)),
        headers=tuple(sorted(params.headers.items())),
        params=params.model_dump_json(exclude={"headers"}),
        scraper_params=params.scraper_params(),
        crawl=_crawl(body, 0 if fresh else max_age),
        idempotency_key=key,
        request_hash=_hash_of_all(body, fresh),
        same_as=Claim(f"crawl:{crawl_hash}", cache_ttl, succeeds=True, renews=fresh),
    )


def _crawl(body: CrawlRequest, max_age: int) -> Crawl:
    params = body.params
    starts = [(url.text, url.host) for url in _canonical(body.start_urls)]
    scope = scope_around(starts, params.scope, include=params.include, exclude=params.exclude)
    headers = sorted(params.headers.items())
    terms = {"scope": scope.to_json(), "max_age": max_age, "headers": headers,
             "params": params.scraper_params()}  # fmt: skip
    return Crawl(body.depth, params.max_pages, params.priority, orjson.dumps(terms).decode())


def _hash(body: CrawlRequest, user_id: str | None) -> str:
    """Hashes what the crawl does, however the body spells it."""
    params = body.params.model_dump()
    urls = sorted(url.text for url in _canonical(body.start_urls))
    parts: list[Any] = [user_id, body.spider, urls, body.depth, params]
    if body.schedule_at is not None or body.interval is not None:
        at = body.schedule_at
        parts.append([at and int(at.timestamp() * 1000), body.interval, body.timezone or UTC])
    packed = orjson.dumps(parts, option=orjson.OPT_SORT_KEYS)
    return hashlib.blake2b(packed, digest_size=16).hexdigest()


def _hash_of_all(body: CrawlRequest, fresh: bool) -> str:
    """Hashes the whole body: a repeated idempotency key must come with the same body."""
    whole = body.model_dump(mode="json") | {"ignore_cache": fresh}
    packed = orjson.dumps(whole, option=orjson.OPT_SORT_KEYS)
    return hashlib.blake2b(packed, digest_size=16).hexdigest()


def _canonical(urls: list[str]) -> list[Url]:
    """Returns the valid URLs; submitting reports the others."""
    found = []
    for url in urls:
        try:
            found.append(canonical(url))
        except BadUrl:
            continue
    return found


def schedule_spec(body: CrawlRequest, caller: Caller, *, fresh: bool, now: int) -> ScheduleSpec:
    """Builds the spec of the schedule that the body requests."""
    if body.finish_by is not None:
        raise BadRequest(["finish_by cannot be used with schedule_at or interval."])
    at = future_instant(body.schedule_at, "schedule_at", now)
    zone = body.timezone or UTC
    try:
        if body.interval is not None:
            rule: Rule = checked(Cron(body.interval, zone))
        else:
            checked_zone(zone)
            rule = checked(Once(at or 0))
    except BadRule as wrong:
        raise BadRequest([str(wrong)]) from None
    of_schedule = {"schedule_at", "interval", "timezone", "dry_run"}
    crawl = body.model_dump(mode="json", exclude_unset=True, exclude=of_schedule)
    crawl |= {"ignore_cache": True} if fresh else {}
    return ScheduleSpec(
        name="", rule=rule, timezone=zone, payload={"crawl": crawl},
        not_before=at if isinstance(rule, Cron) else None,
        user_id=caller.user_id or body.user_id, key_id=caller.key_id,
    )  # fmt: skip
