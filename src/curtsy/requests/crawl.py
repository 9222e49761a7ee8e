"""The request body of the crawl door, and the job request or schedule spec that it becomes."""

import difflib
import hashlib
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Self

import orjson
from pydantic import (
    AfterValidator,
    AliasChoices,
    BaseModel,
    ConfigDict,
    FailFast,
    Field,
    model_validator,
)

from curtsy.clock import SECOND
from curtsy.errors import BadRequest
from curtsy.frontier.crawls.leads import Crawl
from curtsy.jobs import Claim, JobRequest, PageRequest
from curtsy.jobs.job_request import MAX_URLS, JobSession
from curtsy.model.crawl_rules import CrawlRules
from curtsy.model.options import checked_headers, checked_params
from curtsy.model.origins import origin_of
from curtsy.model.roles import Caller
from curtsy.model.scope import Reach, scope_around
from curtsy.model.urls import BadUrl, Url, canonical
from curtsy.requests import examples
from curtsy.requests.articles import LONGEST_MAX_AGE_SECONDS, MOST_HEADERS, MOST_TAGS, Tag
from curtsy.requests.body_fields import hashed
from curtsy.requests.crawl_rules import MOST_PATTERNS, MOST_RULES, PageRule, Pattern, crawl_rules
from curtsy.requests.crawl_start import Start
from curtsy.requests.instants import Moment, future_instant
from curtsy.requests.session_fields import Cookies, job_session
from curtsy.schedules.schedule import ScheduleSpec
from curtsy.scrapers import arguments_for
from curtsy.timetable import BadRule, Cron, Once, Rule, checked, checked_zone

DOOR = "crawl"
UTC = "UTC"
MOST_DEPTH = 100
MOST_PAGES = 1_000_000
_NEWER_FIELDS = frozenset({"start"})
_NEWER_PARAMS = frozenset({"keep", "follow", "rules", "session", "cookies"})


class CrawlParams(BaseModel):
    """Options of a crawl. Other names are arguments of a custom spider."""

    model_config = ConfigDict(extra="allow", strict=True)

    scope: Reach = "host"
    """Follow links within the `page` (none), the `prefix`, `host` or `domain` of a start URL, or to
    `any` host."""
    include: list[Pattern] = Field(default_factory=list, max_length=MOST_PATTERNS)
    """Only URLs that match one of these; `*` matches any characters."""
    exclude: list[Pattern] = Field(default_factory=list, max_length=MOST_PATTERNS)
    keep: list[Pattern] = Field(default_factory=list, max_length=MOST_PATTERNS)
    """Only pages whose URL matches one of these are results; the others only lead further."""
    follow: list[Pattern] = Field(default_factory=list, max_length=MOST_PATTERNS)
    """Only links of pages whose URL matches one of these are followed."""
    rules: list[PageRule] = Field(default_factory=list, max_length=MOST_RULES)
    """By URL and depth: scraper, keep, follow. The first rule that matches a page decides, `keep`
    and `follow` above decide for pages that none matches."""
    max_pages: int = Field(10_000, ge=1, le=MOST_PAGES)
    priority: int = Field(5, ge=1, le=10)
    max_age: int | None = Field(None, ge=0, le=LONGEST_MAX_AGE_SECONDS)
    """Accept a stored copy, at most this many seconds old, of pages at the last depth, whose links
    are not followed (default: `CRAWL_CACHE_TTL`)."""
    headers: Annotated[dict[str, str], AfterValidator(checked_headers)] = Field(
        default_factory=dict, max_length=MOST_HEADERS
    )
    """Sent to the origins (scheme, host and port) of the start URLs; on http also to the same with
    https, and nowhere else."""
    session: bool = False
    """Fetch in a session: with a jar for cookies, after the login that the source declares."""
    cookies: Cookies | None = Field(None, repr=False)
    """A browser's cookies.txt, with which the session begins."""
    recipe: Annotated[dict[str, Any], AfterValidator(checked_params)] | None = None
    """For the spider `listing`: how to parse its pages."""
    args: Annotated[dict[str, Any], AfterValidator(checked_params)] = Field(
        default_factory=dict, max_length=100
    )
    """For a custom spider: passed to it as its page's `params`, like names that are no option."""

    @model_validator(mode="after")
    def _check_arguments(self) -> Self:
        arguments, options = self.model_extra or {}, list(type(self).model_fields)
        for name in arguments:
            if near := difflib.get_close_matches(name, options, 1, cutoff=0.8):
                raise ValueError(f"{name[:100]!r} is no option: did you mean {near[0]!r}? If it is "
                                 "an argument of the spider, put it in args")  # fmt: skip
        for name in {*arguments, *(["recipe"] if self.recipe is not None else [])} & {*self.args}:
            raise ValueError(f"{name[:100]!r} stands both in params and in params.args")
        checked_params(arguments)
        return self

    def scraper_params(self) -> dict[str, Any]:
        recipe = {"recipe": self.recipe} if self.recipe is not None else {}
        return (self.model_extra or {}) | self.args | recipe


class CrawlRequest(BaseModel):
    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        json_schema_extra=examples.shown(examples.CRAWL_NOW, examples.CRAWL_LATER),
    )

    user_id: str | None = Field(None, min_length=1, max_length=200)
    """The owner of the crawl; ignored if the request has an API key with a user."""
    spider: str = Field(min_length=1, max_length=200)
    start_urls: Annotated[list[str], FailFast()] = Field(default_factory=list, max_length=MAX_URLS)
    """Where the crawl starts; may be left out where `start` is given."""
    start: Start | None = None
    """Feeds and sitemaps whose entries the crawl starts from."""
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

    @model_validator(mode="after")
    def _check_starts(self) -> Self:
        if not self.start_urls and self.start is None:
            raise ValueError("a crawl needs start_urls, or start with a feed or a sitemap")
        return self

    @property
    def is_scheduled(self) -> bool:
        return self.schedule_at is not None or self.interval is not None

    @property
    def starts(self) -> list[str]:
        """All URLs that the crawl starts from."""
        lists = [*self.start.feed, *self.start.sitemap] if self.start is not None else []
        return [*self.start_urls, *lists]


def job_request(
    body: CrawlRequest, *, key: str | None, caller: Caller, fresh: bool, cache_ttl: int, now: int
) -> JobRequest:
    """With `fresh`, earlier crawls and stored pages are ignored."""
    user_id = caller.user_id or body.user_id
    params = body.params
    max_age = cache_ttl if params.max_age is None else params.max_age * SECOND
    rules = crawl_rules(params.rules, keep=params.keep, follow=params.follow)
    session = job_session(body.starts, session=params.session, cookies=params.cookies)
    return JobRequest(
        door=DOOR,
        pages=_pages(body, rules),
        scraper=body.spider,
        scrapers=[*_scrapers(body, rules)],
        max_age=0 if fresh else max_age,
        user_id=user_id,
        key_id=caller.key_id,
        name=body.name,
        webhook_url=body.webhook_url,
        finish_by=future_instant(body.finish_by, "finish_by", now),
        tags=tuple(dict.fromkeys(body.tags)),
        headers=tuple(sorted(params.headers.items())),
        params=_shown(body),
        scraper_params=params.scraper_params(),
        crawl=_crawl(body, rules, 0 if fresh else max_age, session),
        session=session,
        idempotency_key=key,
        request_hash=_hash_of_all(body, fresh),
        same_as=_claim(body, user_id, cache_ttl, fresh=fresh),
    )


def _scrapers(body: CrawlRequest, rules: CrawlRules) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The scrapers of the rules, and of the feeds and sitemaps, with their parameters."""
    own = body.params.scraper_params()
    for rule in rules.rules:
        if rule.scraper is not None:
            yield rule.scraper, arguments_for(rule.scraper, own=body.spider, arguments=own,
                                              more=rule.params)  # fmt: skip
    for page in body.start.pages(body.params.priority) if body.start is not None else ():
        yield page.scraper or body.spider, {}


def _shown(body: CrawlRequest) -> str:
    """The parameters for people, as JSON."""
    start = {"start": body.start.model_dump(exclude_unset=True)} if body.start is not None else {}
    shown = body.params.model_dump(mode="json", exclude={"headers", "cookies"}) | start
    return orjson.dumps(shown).decode()


def _pages(body: CrawlRequest, rules: CrawlRules) -> list[PageRequest]:
    params = body.params
    starts = [_start_page(url, body, rules) for url in body.start_urls]
    return starts + ([*body.start.pages(params.priority)] if body.start is not None else [])


def _start_page(url: str, body: CrawlRequest, rules: CrawlRules) -> PageRequest:
    params = body.params
    try:
        rule = rules.rule_for(canonical(url).text, 0)
    except BadUrl:  # submitting reports it
        return PageRequest(url, params.priority)
    arguments = arguments_for(rule.scraper or body.spider, own=body.spider,
                              arguments=params.scraper_params(), more=rule.params)  # fmt: skip
    return PageRequest(url, params.priority, scraper=rule.scraper, params=arguments, uses=rule.uses)


def _crawl(
    body: CrawlRequest, rules: CrawlRules, max_age: int, session: JobSession | None
) -> Crawl:
    params = body.params
    starts = [(url.text, url.host) for url in _canonical(body.starts)]
    scope = scope_around(starts, params.scope, include=params.include, exclude=params.exclude)
    headers = sorted(params.headers.items())
    terms: dict[str, Any] = {
        "scope": scope.to_json(), "max_age": max_age, "headers": headers,
        "origins": sorted({origin_of(url) for url, _host in starts}) if headers else [],
        "params": params.scraper_params(), "rules": rules.to_json(),
    }  # fmt: skip
    if session is not None:
        terms["session"] = session.name
    if body.start is not None:
        terms["start"] = body.start.terms(params.include, params.exclude)
    return Crawl(body.depth, params.max_pages, params.priority, orjson.dumps(terms).decode())


def _claim(body: CrawlRequest, user_id: str | None, cache_ttl: int, *, fresh: bool) -> Claim | None:
    """The key under which a repeated request finds this crawl. None for feeds and sitemaps: they
    are to be read again."""
    if body.start is not None and not body.is_scheduled:
        return None
    key = f"crawl:{_hash(body, user_id)}"
    return Claim(key, cache_ttl, succeeds=True, renews=fresh)


def _hash(body: CrawlRequest, user_id: str | None) -> str:
    """Hashes what the crawl does, however the body spells it."""
    params = hashed(body.params, _NEWER_PARAMS, body.params.model_dump())
    urls = sorted(url.text for url in _canonical(body.start_urls))
    parts: list[Any] = [user_id, body.spider, urls, body.depth, params]
    if body.start is not None:
        parts.append(body.start.model_dump())
    if body.is_scheduled:
        at = body.schedule_at
        parts.append([at and int(at.timestamp() * 1000), body.interval, body.timezone or UTC])
    packed = orjson.dumps(parts, option=orjson.OPT_SORT_KEYS)
    return hashlib.blake2b(packed, digest_size=16).hexdigest()


def _hash_of_all(body: CrawlRequest, fresh: bool) -> str:
    """Hashes the whole body: a repeated idempotency key must come with the same body."""
    whole = hashed(body, _NEWER_FIELDS, body.model_dump(mode="json")) | {"ignore_cache": fresh}
    whole["params"] = hashed(body.params, _NEWER_PARAMS, whole["params"])
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
