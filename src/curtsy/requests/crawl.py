"""The crawl door's request body, and the job request or schedule spec it becomes."""

import hashlib
from typing import Annotated, Any

import orjson
from pydantic import AfterValidator, AliasChoices, BaseModel, ConfigDict, FailFast, Field

from curtsy.clock import SECOND
from curtsy.errors import BadRequest
from curtsy.frontier.crawls import Crawl
from curtsy.jobs import Claim, JobRequest, PageRequest
from curtsy.jobs.request import MAX_URLS
from curtsy.model.options import checked_headers
from curtsy.model.roles import Caller
from curtsy.model.scope import Reach, scope_around
from curtsy.model.urls import BadUrl, Url, canonical
from curtsy.requests import examples
from curtsy.requests.articles import LONGEST_MAX_AGE_SECONDS, MOST_HEADERS, MOST_TAGS, Tag
from curtsy.requests.instants import Moment, yet_to_come
from curtsy.schedules.schedule import ScheduleSpec
from curtsy.timetable import BadRule, Cron, Once, Rule, checked, checked_zone

DOOR = "crawl"
UTC = "UTC"
MOST_PATTERNS = 50
MOST_DEPTH = 100
MOST_PAGES = 1_000_000

Pattern = Annotated[str, Field(min_length=1, max_length=500)]


class CrawlParams(BaseModel):
    """What the built-in spiders can be told."""

    model_config = ConfigDict(extra="forbid", strict=True)

    scope: Reach = "host"
    """Follow links within the `page` (none), the `prefix`, `host` or `domain` of a start URL."""
    include: list[Pattern] = Field(default_factory=list, max_length=MOST_PATTERNS)
    """Only URLs that match one of these; `*` stands for any run of characters."""
    exclude: list[Pattern] = Field(default_factory=list, max_length=MOST_PATTERNS)
    max_pages: int = Field(10_000, ge=1, le=MOST_PAGES)
    priority: int = Field(5, ge=1, le=10)
    max_age: int | None = Field(None, ge=0, le=LONGEST_MAX_AGE_SECONDS)
    """A stored copy of a last page, from which nothing is followed, will do (`CRAWL_CACHE_TTL`)."""
    headers: Annotated[dict[str, str], AfterValidator(checked_headers)] = Field(
        default_factory=dict, max_length=MOST_HEADERS
    )
    recipe: dict[str, Any] | None = None
    """Of the spider `listing`: how its pages are read."""
    args: dict[str, Any] = Field(default_factory=dict, max_length=100)
    """What a spider of your own is told, as its page's `params`."""

    def for_scraper(self) -> dict[str, Any]:
        return self.args | ({"recipe": self.recipe} if self.recipe is not None else {})


class CrawlRequest(BaseModel):
    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        json_schema_extra=examples.shown(examples.CRAWL_NOW, examples.CRAWL_LATER),
    )

    user_id: str | None = Field(None, min_length=1, max_length=200)
    """Whose crawl it is; with a key, it is the key's user's."""
    spider: str = Field(min_length=1, max_length=200)
    start_urls: Annotated[list[str], FailFast()] = Field(min_length=1, max_length=MAX_URLS)
    depth: int = Field(0, ge=0, le=MOST_DEPTH)
    """How many links away from a start URL; 0 fetches the start URLs alone."""
    schedule_at: Moment | None = None
    """Not before this moment; without `interval` once, at it."""
    interval: str | None = Field(
        None, max_length=200, validation_alias=AliasChoices("interval", "cron")
    )
    """A cron line, or `@daily` and the like: again and again."""
    timezone: str | None = Field(None, max_length=100)
    """In which `interval` is meant (UTC)."""
    ignore_cache: bool = False
    """Start anew, whatever was crawled before, and fetch every page."""
    params: CrawlParams = Field(default_factory=lambda: CrawlParams.model_validate({}))
    webhook_url: str | None = Field(None, max_length=8_000)
    """Is told of the job's end, with a signature."""
    finish_by: Moment | None = None
    """A wish: the status says whether it may be expected to come true."""
    dry_run: bool = False
    """Submit nothing: say what the start URLs would come to. Where they lead nobody knows yet."""
    name: str | None = Field(None, max_length=300)
    tags: list[Tag] = Field(default_factory=list, max_length=MOST_TAGS)


def job_request(
    asked: CrawlRequest, *, key: str | None, caller: Caller, fresh: bool, cache_ttl: int, now: int
) -> JobRequest:
    """`fresh`: whatever was crawled before does not count."""
    user_id = caller.user_id or asked.user_id
    params = asked.params
    max_age = cache_ttl if params.max_age is None else params.max_age * SECOND
    known_by = _hash(asked, user_id)
    return JobRequest(
        door=DOOR,
        pages=[PageRequest(url, params.priority) for url in asked.start_urls],
        scraper=asked.spider,
        max_age=0 if fresh else max_age,
        user_id=user_id,
        key_id=caller.key_id,
        name=asked.name,
        webhook_url=asked.webhook_url,
        finish_by=yet_to_come(asked.finish_by, "finish_by", now),
        tags=tuple(dict.fromkeys(asked.tags)),
        headers=tuple(sorted(params.headers.items())),
        params=params.model_dump_json(exclude={"headers"}),
        scraper_params=params.for_scraper(),
        crawl=_crawl(asked, 0 if fresh else max_age),
        idempotency_key=key,
        request_hash=_hash_of_all(asked, fresh),
        same_as=Claim(f"crawl:{known_by}", cache_ttl, succeeds=True, renews=fresh),
    )


def _crawl(asked: CrawlRequest, max_age: int) -> Crawl:
    params = asked.params
    starts = [(url.text, url.host) for url in _canonical(asked.start_urls)]
    scope = scope_around(starts, params.scope, include=params.include, exclude=params.exclude)
    headers = sorted(params.headers.items())
    terms = {"scope": scope.to_json(), "max_age": max_age, "headers": headers,
             "params": params.for_scraper()}  # fmt: skip
    return Crawl(asked.depth, params.max_pages, params.priority, orjson.dumps(terms).decode())


def _hash(asked: CrawlRequest, user_id: str | None) -> str:
    """Of what is asked for, however it is spelled."""
    params = asked.params.model_dump()
    urls = sorted(url.text for url in _canonical(asked.start_urls))
    what: list[Any] = [user_id, asked.spider, urls, asked.depth, params]
    if asked.schedule_at is not None or asked.interval is not None:
        at = asked.schedule_at
        what.append([at and int(at.timestamp() * 1000), asked.interval, asked.timezone or UTC])
    packed = orjson.dumps(what, option=orjson.OPT_SORT_KEYS)
    return hashlib.blake2b(packed, digest_size=16).hexdigest()


def _hash_of_all(asked: CrawlRequest, fresh: bool) -> str:
    """Of every word of the request: a key that is used again must come with the same."""
    said = asked.model_dump(mode="json") | {"ignore_cache": fresh}
    packed = orjson.dumps(said, option=orjson.OPT_SORT_KEYS)
    return hashlib.blake2b(packed, digest_size=16).hexdigest()


def _canonical(urls: list[str]) -> list[Url]:
    """Those that can be read; the submit names the others."""
    found = []
    for url in urls:
        try:
            found.append(canonical(url))
        except BadUrl:
            continue
    return found


def schedule_spec(asked: CrawlRequest, caller: Caller, *, fresh: bool, now: int) -> ScheduleSpec:
    """The schedule that the crawl asks for."""
    if asked.finish_by is not None:
        raise BadRequest(["finish_by is not for a crawl that a schedule makes."])
    at = yet_to_come(asked.schedule_at, "schedule_at", now)
    zone = asked.timezone or UTC
    try:
        if asked.interval is not None:
            rule: Rule = checked(Cron(asked.interval, zone))
        else:
            checked_zone(zone)
            rule = checked(Once(at or 0))
    except BadRule as wrong:
        raise BadRequest([str(wrong)]) from None
    said = {"schedule_at", "interval", "timezone", "dry_run"}
    crawl = asked.model_dump(mode="json", exclude_unset=True, exclude=said)
    crawl |= {"ignore_cache": True} if fresh else {}
    return ScheduleSpec(name="", rule=rule, timezone=zone, payload={"crawl": crawl},
                not_before=at if isinstance(rule, Cron) else None,
                user_id=caller.user_id or asked.user_id, key_id=caller.key_id)  # fmt: skip
