"""Keywords of the client's calls that send a body.

Written by `make client-types` from the models of the API; do not edit.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal, Required, TypedDict


class ArticleBody(TypedDict, total=False):
    method: Literal["GET", "POST", "PUT"] | None
    """Default: POST with a body, GET without one."""
    json: Mapping[str, object] | Sequence[object] | None
    """A body of JSON."""
    form: Mapping[str, str | Sequence[str]] | None
    """A body as HTML forms send it; a list stands for several fields of one name."""
    body: str | None
    """A body as it is, in UTF-8."""
    content_type: str | None
    """Of `body`; default: plain text."""
    idempotent: bool
    """A POST may be sent again if its answer was lost, like a GET. Without this it is not: it
    may have changed the site."""
    url: Required[str]
    source: str | None
    """A label on the result; it does not select a policy."""
    category: str | None
    priority: int
    """1 is the highest."""


class ArticlesBody(TypedDict, total=False):
    articles: Required[Sequence[ArticleBody]]
    max_age: int | None
    """Accept a stored article that is at most this many seconds old (default: `PAGE_MAX_AGE`)."""
    ignore_cache: bool
    new_only: bool
    """Leave out articles that the store has, whichever job got them and however old they are."""
    webhook_url: str | None
    """Receives a signed request when the job ends."""
    finish_by: datetime | str | None
    """The desired end of the job: the status says whether it is likely to be met, and a
    `dry_run` which changes would meet it."""
    dry_run: bool
    """Submit nothing, but return what the job would do."""
    name: str | None
    tags: Sequence[str]
    headers: Mapping[str, str]
    """Sent with every request to a page's own origin (scheme, host and port). A redirect from
    http to https keeps them, any other redirect to another origin does not."""
    session: bool
    """Fetch in a session: with a jar for cookies, after the login that the source declares."""
    cookies: str | None
    """A browser's cookies.txt, with which the session begins."""


class StartBody(TypedDict, total=False):
    """Feeds and sitemaps: their entries are the start pages. They themselves are no results."""

    feed: Sequence[str]
    """RSS, Atom or JSON feeds, or pages that link to theirs: one URL or several."""
    sitemap: Sequence[str]
    """Sitemaps, indexes of sitemaps, or a robots.txt that names them: one URL or several."""
    new_only: bool
    """Fetch only entries that earlier runs of this schedule (or, without a schedule, earlier
    crawls of yours) have not seen, or that say that they changed since."""
    scope: Literal["page", "prefix", "host", "domain", "any"] | None
    """Where entries may lead, seen from the feed or sitemap: `host`, `domain` (default for
    sitemaps) or `any` (default for feeds)."""


class PageRuleBody(TypedDict, total=False):
    """For the pages that match: which scraper reads them, and what becomes of them. The first
    rule that matches a page decides."""

    match: Sequence[str]
    """URLs: one pattern or several; `*` matches any characters. Without one, all URLs."""
    min_depth: int
    max_depth: int
    scraper: str | None
    """Default: the spider of the crawl."""
    params: Mapping[str, object]
    """Passed to the scraper, beside the arguments of the crawl."""
    keep: bool
    """The page is a result."""
    follow: bool
    """Its links are followed, as far as `depth` and `scope` allow."""


class CrawlParams(TypedDict, total=False):
    """Options of a crawl. Other names are arguments of a custom spider."""

    scope: Literal["page", "prefix", "host", "domain", "any"]
    """Follow links within the `page` (none), the `prefix`, `host` or `domain` of a start URL,
    or to `any` host."""
    include: Sequence[str]
    """Only URLs that match one of these; `*` matches any characters."""
    exclude: Sequence[str]
    keep: Sequence[str]
    """Only pages whose URL matches one of these are results; the others only lead further."""
    follow: Sequence[str]
    """Only links of pages whose URL matches one of these are followed."""
    rules: Sequence[PageRuleBody]
    """By URL and depth: scraper, keep, follow. The first rule that matches a page decides,
    `keep` and `follow` above decide for pages that none matches."""
    max_pages: int
    priority: int
    max_age: int | None
    """Accept a stored copy, at most this many seconds old, of pages at the last depth, whose
    links are not followed (default: `CRAWL_CACHE_TTL`)."""
    headers: Mapping[str, str]
    """Sent to the origins (scheme, host and port) of the start URLs; on http also to the same
    with https, and nowhere else."""
    session: bool
    """Fetch in a session: with a jar for cookies, after the login that the source declares."""
    cookies: str | None
    """A browser's cookies.txt, with which the session begins."""
    recipe: Mapping[str, object] | None
    """For the spider `listing`: how to parse its pages."""
    args: Mapping[str, object]
    """For a custom spider: passed to it as its page's `params`, like names that are no option."""


class CrawlBody(TypedDict, total=False):
    user_id: str | None
    """The owner of the crawl; ignored if the request has an API key with a user."""
    spider: Required[str]
    start_urls: Sequence[str]
    """Where the crawl starts; may be left out where `start` is given."""
    start: StartBody | None
    """Feeds and sitemaps whose entries the crawl starts from."""
    depth: int
    """How many links to follow from a start URL; 0 fetches only the start URLs."""
    schedule_at: datetime | str | None
    """When the schedule starts; without `interval` the crawl runs once, at this instant."""
    interval: str | None
    """A cron line, or `@daily` and the like: the crawl is repeated."""
    timezone: str | None
    """The time zone of `interval` (default: UTC)."""
    ignore_cache: bool
    """Start a new crawl, whatever was crawled before, and fetch every page."""
    params: CrawlParams
    webhook_url: str | None
    """Receives a signed request when the job ends."""
    finish_by: datetime | str | None
    """The desired end of the job: the status says whether it is likely to be met."""
    dry_run: bool
    """Submit nothing, but return what the start URLs would do. Linked pages are not known yet."""
    name: str | None
    tags: Sequence[str]


class FetchBody(TypedDict, total=False):
    method: Literal["GET", "POST", "PUT"] | None
    """Default: POST with a body, GET without one."""
    json: Mapping[str, object] | Sequence[object] | None
    """A body of JSON."""
    form: Mapping[str, str | Sequence[str]] | None
    """A body as HTML forms send it; a list stands for several fields of one name."""
    body: str | None
    """A body as it is, in UTF-8."""
    content_type: str | None
    """Of `body`; default: plain text."""
    idempotent: bool
    """A POST may be sent again if its answer was lost, like a GET. Without this it is not: it
    may have changed the site."""
    url: Required[str]
    max_age: int
    """Accept a stored copy that is at most this many seconds old."""
    priority: int
    """1 is the highest."""
    session: bool
    """Fetch in a session: with a jar for cookies, after the login that the source declares."""
    cookies: str | None
    """A browser's cookies.txt, with which the session begins."""
    webhook_url: str | None
    """Receives a signed request when the job ends."""


class RunBody(TypedDict, total=False):
    """A search on a declared site."""

    site_name: Required[str]
    search_term: str | None
    location: str | None
    is_remote: bool | None
    results_wanted: int | None
    """Defaults to the site's own number, or 15; with `mode=sync` at most 25, whatever the site
    declares."""
    country: str | None
    """For a site with a `country_url`: fetch only the page of this country."""
    priority: int | None
    webhook_url: str | None
    """Receives a signed request when the run ends."""


class PayloadBody(TypedDict, total=False):
    """The work of a slot: exactly one of these."""

    articles: ArticlesBody | None
    crawl: CrawlBody | None
    fetch: FetchBody | None
    run: RunBody | None
    """A run of a site."""
    duty: Literal["health", "reports", "dead_letters", "cleanup"] | None


class ScheduleBody(TypedDict, total=False):
    name: str | None
    cron: str | None
    """Five fields, or `@hourly`, `@daily`, `@weekly`, `@monthly`, `@yearly`."""
    every_minutes: int | None
    at: datetime | str | None
    """Fire once, at this instant."""
    timezone: str | None
    """The time zone of `cron` and of displayed firings; an IANA name."""
    jitter: bool | None
    """For `every_minutes`: shift slots by up to a tenth of the interval; a slot's shift never
    changes."""
    after_end: bool | None
    """For `every_minutes`: count from the end of the last run, not from the last slot."""
    not_before: datetime | str | None
    """No slot fires earlier; null in a change removes the limit."""
    overlap: Literal["skip", "queue_one", "cancel_running", "allow"] | None
    catch_up: Literal["latest", "none", "all"] | None
    catch_up_minutes: int | None
    """Slots that were missed longer ago are not caught up on."""
    enabled: bool | None
    payload: Required[PayloadBody]


class ScheduleChanges(TypedDict, total=False):
    """Fields that are not given stay as they are."""

    name: str | None
    cron: str | None
    """Five fields, or `@hourly`, `@daily`, `@weekly`, `@monthly`, `@yearly`."""
    every_minutes: int | None
    at: datetime | str | None
    """Fire once, at this instant."""
    timezone: str | None
    """The time zone of `cron` and of displayed firings; an IANA name."""
    jitter: bool | None
    """For `every_minutes`: shift slots by up to a tenth of the interval; a slot's shift never
    changes."""
    after_end: bool | None
    """For `every_minutes`: count from the end of the last run, not from the last slot."""
    not_before: datetime | str | None
    """No slot fires earlier; null in a change removes the limit."""
    overlap: Literal["skip", "queue_one", "cancel_running", "allow"] | None
    catch_up: Literal["latest", "none", "all"] | None
    catch_up_minutes: int | None
    """Slots that were missed longer ago are not caught up on."""
    enabled: bool | None
    payload: PayloadBody | None


class SearchBody(TypedDict, total=False):
    """Default parameters of runs."""

    search_term: str | None
    location: str | None
    is_remote: bool | None
    results_wanted: int | None
    country: str | None


class SiteBody(TypedDict, total=False):
    search_url: Required[str]
    """May contain `{search_term}`, `{location}`, `{is_remote}`, `{results_wanted}`,
    `{country}`, and `{page}` or `{offset}` if result pages are numbered."""
    country_url: str | None
    """URL of the page of one country, which is parsed as an article."""
    scraper: str
    """`listing`, or a custom scraper that returns records."""
    recipe: Mapping[str, object] | None
    """For `listing`: how to parse a page; see the reference of scrapers."""
    args: Mapping[str, object]
    """For a custom scraper: passed to it as its page's `params`."""
    results_per_page: int
    max_pages: int
    min_pause_seconds: float
    max_pause_seconds: float
    max_retries: int
    priority: int
    interval_minutes: int | None
    """Defaults to 60 if the defaults fill the template; otherwise, and with 0, the site has no
    schedule."""
    cron: str | None
    """Instead of `interval_minutes`."""
    timezone: str
    defaults: SearchBody
    session: bool
    """Fetch in a session that lasts from run to run, after the login that the source declares."""
    enabled: bool


class RespectfulHours(TypedDict, total=False):
    """Hours of the day with fewer requests (`slowdown`) or none (`closed`). A pair of hours,
    `[9, 17]`, is short for those hours in UTC with a slowdown of 2."""

    start: Required[str]
    end: Required[str]
    """If before `start`, the hours last past midnight."""
    timezone: str
    slowdown: float | None
    """The factor by which delays grow and the hourly limit shrinks."""
    closed: bool


class SuccessFields(TypedDict, total=False):
    """What shows that a login succeeded: all of the given signs."""

    status: Sequence[int] | None
    url: str | None
    """The whole URL of the response, or of where it redirects to; `*` stands for any
    characters."""
    text: str | None
    """Occurs in the body, exactly so."""
    selector: str | None
    """A CSS selector that matches an element."""
    cookie: str | None
    """The name of a cookie that gets a new value."""


class SignFields(TypedDict, total=False):
    """What a response is recognised by."""

    status: Sequence[int] | None
    url: str | None
    """The whole URL of the response, or of where it redirects to; `*` stands for any
    characters."""
    text: str | None
    """Occurs in the body, exactly so."""
    selector: str | None
    """A CSS selector that matches an element."""


class LoginFields(TypedDict, total=False):
    """A login: the request that a session begins with, and how its success shows."""

    url: Required[str]
    """Where the form is sent: on one of the hosts of the source."""
    method: Literal["POST", "GET"]
    form: Mapping[str, str]
    """The fields of the form. Their values are shown as ***."""
    send_as: Literal["form", "json"]
    form_from: str | None
    """A page that is fetched first: the hidden fields of its form are sent along."""
    success: Required[SuccessFields]
    """What shows that it succeeded: all of these."""
    lost: SignFields | None
    """What shows that a page was fetched without the session: any of these. Default: status
    401, or a redirect to `url` or `form_from`."""


class SourceDescription(TypedDict, total=False):
    """The full description of a source. Fields that are left out take the default of the
    settings; hosts that are left out stay as they are."""

    hosts: Sequence[str] | None
    """Hosts that share one budget. So do the names below them, unless another source has them."""
    requests_per_hour: int | None
    burst_limit: int | None
    min_delay_seconds: float | None
    max_delay_seconds: float | None
    """If above `min_delay_seconds`, each delay is random between the two."""
    concurrency: int | None
    lanes: Literal[1] | None
    """Only one worker at a time sends requests to a source."""
    respectful_hours: RespectfulHours | None
    max_retries: int | None
    timeout: float | None
    """Seconds, for a whole attempt."""
    robots: Literal["obey", "ignore"] | None
    crawl_delay_cap_seconds: float | None
    headers: Mapping[str, str] | None
    user_agent: str | None
    """Should name a contact: site owners are less likely to block a client that they can
    reach."""
    proxy: str | None
    """http://, https:// or socks5://, then user:password@ if it has them, then host:port."""
    proxies: Sequence[str] | None
    """Several: each request goes through the next one, and a proxy that fails rests for a
    while. `proxy` is one of them, too."""
    login: LoginFields | None
    """For jobs with a session: sent before their first page, and again when the session is
    lost."""
    enabled: bool | None


class SourceChanges(TypedDict, total=False):
    """Changes of a source. Fields that are left out stay as they are; null restores the
    default of the settings."""

    hosts: Sequence[str] | None
    """Hosts that share one budget. So do the names below them, unless another source has them."""
    requests_per_hour: int | None
    burst_limit: int | None
    min_delay_seconds: float | None
    max_delay_seconds: float | None
    """If above `min_delay_seconds`, each delay is random between the two."""
    concurrency: int | None
    lanes: Literal[1] | None
    """Only one worker at a time sends requests to a source."""
    respectful_hours: RespectfulHours | None
    max_retries: int | None
    timeout: float | None
    """Seconds, for a whole attempt."""
    robots: Literal["obey", "ignore"] | None
    crawl_delay_cap_seconds: float | None
    headers: Mapping[str, str] | None
    user_agent: str | None
    """Should name a contact: site owners are less likely to block a client that they can
    reach."""
    proxy: str | None
    """http://, https:// or socks5://, then user:password@ if it has them, then host:port."""
    proxies: Sequence[str] | None
    """Several: each request goes through the next one, and a proxy that fails rests for a
    while. `proxy` is one of them, too."""
    login: LoginFields | None
    """For jobs with a session: sent before their first page, and again when the session is
    lost."""
    enabled: bool | None


class WhichLetters(TypedDict, total=False):
    """Selects the open dead letters that match all given fields."""

    ids: Sequence[int] | None
    kind: str | None
    source: str | None
    all: bool
    preview: bool
    """True: only count the letters. Send `false` to change them."""


class ArticlesKeywords(TypedDict, total=False):
    max_age: int | None
    """Accept a stored article that is at most this many seconds old (default: `PAGE_MAX_AGE`)."""
    ignore_cache: bool
    new_only: bool
    """Leave out articles that the store has, whichever job got them and however old they are."""
    webhook_url: str | None
    """Receives a signed request when the job ends."""
    finish_by: datetime | str | None
    """The desired end of the job: the status says whether it is likely to be met, and a
    `dry_run` which changes would meet it."""
    dry_run: bool
    """Submit nothing, but return what the job would do."""
    name: str | None
    tags: Sequence[str]
    headers: Mapping[str, str]
    """Sent with every request to a page's own origin (scheme, host and port). A redirect from
    http to https keeps them, any other redirect to another origin does not."""
    session: bool
    """Fetch in a session: with a jar for cookies, after the login that the source declares."""
    cookies: str | None
    """A browser's cookies.txt, with which the session begins."""


class CrawlKeywords(TypedDict, total=False):
    user_id: str | None
    """The owner of the crawl; ignored if the request has an API key with a user."""
    start: StartBody | None
    """Feeds and sitemaps whose entries the crawl starts from."""
    schedule_at: datetime | str | None
    """When the schedule starts; without `interval` the crawl runs once, at this instant."""
    interval: str | None
    """A cron line, or `@daily` and the like: the crawl is repeated."""
    timezone: str | None
    """The time zone of `interval` (default: UTC)."""
    ignore_cache: bool
    """Start a new crawl, whatever was crawled before, and fetch every page."""
    webhook_url: str | None
    """Receives a signed request when the job ends."""
    finish_by: datetime | str | None
    """The desired end of the job: the status says whether it is likely to be met."""
    dry_run: bool
    """Submit nothing, but return what the start URLs would do. Linked pages are not known yet."""
    name: str | None
    tags: Sequence[str]
    include: Sequence[str]
    """Only URLs that match one of these; `*` matches any characters."""
    exclude: Sequence[str]
    keep: Sequence[str]
    """Only pages whose URL matches one of these are results; the others only lead further."""
    follow: Sequence[str]
    """Only links of pages whose URL matches one of these are followed."""
    rules: Sequence[PageRuleBody]
    """By URL and depth: scraper, keep, follow. The first rule that matches a page decides,
    `keep` and `follow` above decide for pages that none matches."""
    max_pages: int
    priority: int
    max_age: int | None
    """Accept a stored copy, at most this many seconds old, of pages at the last depth, whose
    links are not followed (default: `CRAWL_CACHE_TTL`)."""
    headers: Mapping[str, str]
    """Sent to the origins (scheme, host and port) of the start URLs; on http also to the same
    with https, and nowhere else."""
    session: bool
    """Fetch in a session: with a jar for cookies, after the login that the source declares."""
    cookies: str | None
    """A browser's cookies.txt, with which the session begins."""
    recipe: Mapping[str, object] | None
    """For the spider `listing`: how to parse its pages."""
    args: Mapping[str, object]
    """For a custom spider: passed to it as its page's `params`, like names that are no option."""


class FetchKeywords(TypedDict, total=False):
    method: Literal["GET", "POST", "PUT"] | None
    """Default: POST with a body, GET without one."""
    json: Mapping[str, object] | Sequence[object] | None
    """A body of JSON."""
    form: Mapping[str, str | Sequence[str]] | None
    """A body as HTML forms send it; a list stands for several fields of one name."""
    body: str | None
    """A body as it is, in UTF-8."""
    content_type: str | None
    """Of `body`; default: plain text."""
    idempotent: bool
    """A POST may be sent again if its answer was lost, like a GET. Without this it is not: it
    may have changed the site."""
    max_age: int
    """Accept a stored copy that is at most this many seconds old."""
    priority: int
    """1 is the highest."""
    session: bool
    """Fetch in a session: with a jar for cookies, after the login that the source declares."""
    cookies: str | None
    """A browser's cookies.txt, with which the session begins."""
    webhook_url: str | None
    """Receives a signed request when the job ends."""


class SearchKeywords(TypedDict, total=False):
    search_term: str | None
    location: str | None
    is_remote: bool | None
    results_wanted: int | None
    """Defaults to the site's own number, or 15; with `mode=sync` at most 25, whatever the site
    declares."""
    webhook_url: str | None
    """Receives a signed request when the run ends."""
