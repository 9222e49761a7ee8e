"""The answers of the API, as the client returns them.

Written by `make client-types` from the models of the API; do not edit.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from curtsy.client.answer import Answer


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class ArticlesCreated(Answer):
    job_id: str
    status: str
    total_articles: int
    new_articles: int
    cached_articles: int
    skipped_articles: int | None = None
    """With `new_only`: articles that the store has, and that the job leaves out."""
    message: str


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class FoundRecord(Answer):
    """One of the records that the scraper of a page found on it."""

    article_id: str
    """Of the page."""
    url: str
    found_at: datetime | None = None
    """The URL of the page after redirects, where it is another one."""
    source: str | None
    category: str | None
    scraped_at: datetime
    cached: bool
    scraper: str
    record_key: str | None
    """Identifies the record in later results of the same scraper."""
    record: Mapping[str, object] | None
    """The fields, in the order that the scraper declares; null: they cannot be shown."""


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class ScrapedPage(Answer):
    """A scraped page. The scraper may add fields: byline, authors, date, published_at,
    modified_at, language, language_source, section, tags, image, canonical_url, paywall,
    markdown, site, description."""

    article_id: str
    url: str
    source: str | None
    category: str | None
    title: str | None
    content: str | None
    scraped_at: datetime
    cached: bool


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class FailedArticle(Answer):
    article_id: str
    url: str
    source: str | None
    category: str | None
    error: str
    kind: str
    attempted_at: datetime


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class ArticleResults(Answer):
    job_id: str
    status: str
    state: Literal["scheduled", "queued", "running", "succeeded", "partial", "failed", "cancelled"]
    door: str
    total_articles: int
    successful: int
    failed: int
    results: tuple[FoundRecord | ScrapedPage, ...]
    """A row for each page; where the scraper finds records, a row for each record."""
    failed_articles: tuple[FailedArticle, ...]
    pages_without_records: int = 0
    """Pages of this part that were scraped and had no record, so that they have no row."""
    next_cursor: str | None = None
    """Send this as `cursor` to get the next page; null: there are no more results."""
    last_event: int | None = None
    """With `after_event`: send this as the next `after_event`."""


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class CrawlCreated(Answer):
    job_id: str
    scheduled: bool
    cached: bool
    """True: an equal request created this job a short while ago."""
    cached_at: datetime | None
    logs_url: str
    status_url: str


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class CrawlScheduled(Answer):
    job_id: str
    """The job of the first slot; each later slot gets a job of its own."""
    scheduled: bool
    next_run: datetime | None
    schedule_id: str | None
    cached: bool
    """True: an equal request created this schedule a short while ago."""
    cached_at: datetime | None
    logs_url: str
    status_url: str


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class FetchCreated(Answer):
    id: str
    url: str
    status: str


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class FetchSummary(Answer):
    door: str
    state: Literal["scheduled", "queued", "running", "succeeded", "partial", "failed", "cancelled"]
    """The state in the engine's terms, the same for all doors."""
    paused: bool | None = None
    eta: datetime | None = None
    """The predicted end of the job, where it can be predicted."""
    finish_by: datetime | None = None
    in_time: bool | None = None
    """Whether the job ended by `finish_by`, or is predicted to."""
    schedule_id: str | None = None
    """The schedule that created the job."""
    schedule_name: str | None = None
    next_run: datetime | None = None
    """The next slot of that schedule; for a job that waits for its slot, that slot."""
    id: str
    url: str
    status: str
    error: str | None = None
    """Why the job failed, in a sentence."""
    created_at: datetime


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class ArticlesJob(Answer):
    """A job of the articles door. `completed` includes articles from the cache."""

    door: str
    state: Literal["scheduled", "queued", "running", "succeeded", "partial", "failed", "cancelled"]
    """The state in the engine's terms, the same for all doors."""
    paused: bool | None = None
    eta: datetime | None = None
    """The predicted end of the job, where it can be predicted."""
    finish_by: datetime | None = None
    in_time: bool | None = None
    """Whether the job ended by `finish_by`, or is predicted to."""
    schedule_id: str | None = None
    """The schedule that created the job."""
    schedule_name: str | None = None
    next_run: datetime | None = None
    """The next slot of that schedule; for a job that waits for its slot, that slot."""
    job_id: str
    status: str
    total_articles: int
    completed: int
    failed: int
    cancelled: int = 0
    pending: int
    cached_articles: int
    created_at: datetime
    updated_at: datetime
    completed_at: datetime | None = None
    name: str | None = None
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class CrawlJob(Answer):
    door: str
    state: Literal["scheduled", "queued", "running", "succeeded", "partial", "failed", "cancelled"]
    """The state in the engine's terms, the same for all doors."""
    paused: bool | None = None
    eta: datetime | None = None
    """The predicted end of the job, where it can be predicted."""
    finish_by: datetime | None = None
    in_time: bool | None = None
    """Whether the job ended by `finish_by`, or is predicted to."""
    schedule_id: str | None = None
    """The schedule that created the job."""
    schedule_name: str | None = None
    next_run: datetime | None = None
    """The next slot of that schedule; for a job that waits for its slot, that slot."""
    job_id: str
    status: str
    spider: str
    spider_job_id: str
    """For built-in spiders, the same as `job_id`."""
    total_pages: int
    """Pages found so far: the number grows while the crawl runs."""
    completed: int
    failed: int
    cancelled: int = 0
    pending: int
    created_at: datetime
    updated_at: datetime
    started_at: datetime | None = None
    finished_at: datetime | None = None
    user_id: str | None = None
    name: str | None = None
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class RunJob(Answer):
    """A run of a site; `GET /jobs/scrape/{run_id}` returns its results."""

    door: str
    state: Literal["scheduled", "queued", "running", "succeeded", "partial", "failed", "cancelled"]
    """The state in the engine's terms, the same for all doors."""
    paused: bool | None = None
    eta: datetime | None = None
    """The predicted end of the job, where it can be predicted."""
    finish_by: datetime | None = None
    in_time: bool | None = None
    """Whether the job ended by `finish_by`, or is predicted to."""
    schedule_id: str | None = None
    """The schedule that created the job."""
    schedule_name: str | None = None
    next_run: datetime | None = None
    """The next slot of that schedule; for a job that waits for its slot, that slot."""
    run_id: str
    task_id: str
    site_name: str | None
    status: str
    trigger: str
    requested_pages: int
    completed_pages: int
    errors_count: int
    message: str | None = None
    created_at: datetime
    started_at: datetime | None = None
    finished_at: datetime | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class FetchJob(Answer):
    door: str
    state: Literal["scheduled", "queued", "running", "succeeded", "partial", "failed", "cancelled"]
    """The state in the engine's terms, the same for all doors."""
    paused: bool | None = None
    eta: datetime | None = None
    """The predicted end of the job, where it can be predicted."""
    finish_by: datetime | None = None
    in_time: bool | None = None
    """Whether the job ended by `finish_by`, or is predicted to."""
    schedule_id: str | None = None
    """The schedule that created the job."""
    schedule_name: str | None = None
    next_run: datetime | None = None
    """The next slot of that schedule; for a job that waits for its slot, that slot."""
    id: str
    url: str
    status: str
    error: str | None = None
    """Why the job failed, in a sentence."""
    content: str | None = None
    """For a completed job: the text, or the bytes in base64."""
    content_encoding: str | None = None
    """`base64` where the content is not text."""
    content_type: str | None = None
    fetched_at: datetime | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class WholeArticlesJob(Answer):
    """A job of the articles door, with its articles."""

    start_urls: tuple[str, ...] | None = ()
    """Of a crawl."""
    depth: int | None = None
    """Of a crawl."""
    params: Mapping[str, object] | None = None
    """The parameters of a crawl or the search of a run; without headers, which may be secret."""
    article_ids: tuple[str, ...] | None = ()
    """The pages of the job so far, in their order; `GET /pages/{id}` shows each."""
    next_cursor: str | None = None
    """Send this as `cursor` for the next `start_urls` and `article_ids`; absent: that was all."""
    door: str
    state: Literal["scheduled", "queued", "running", "succeeded", "partial", "failed", "cancelled"]
    """The state in the engine's terms, the same for all doors."""
    paused: bool | None = None
    eta: datetime | None = None
    """The predicted end of the job, where it can be predicted."""
    finish_by: datetime | None = None
    in_time: bool | None = None
    """Whether the job ended by `finish_by`, or is predicted to."""
    schedule_id: str | None = None
    """The schedule that created the job."""
    schedule_name: str | None = None
    next_run: datetime | None = None
    """The next slot of that schedule; for a job that waits for its slot, that slot."""
    job_id: str
    status: str
    total_articles: int
    completed: int
    failed: int
    cancelled: int = 0
    pending: int
    cached_articles: int
    created_at: datetime
    updated_at: datetime
    completed_at: datetime | None = None
    name: str | None = None
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class WholeCrawlJob(Answer):
    """A crawl, with what was asked for."""

    start_urls: tuple[str, ...] | None = ()
    """Of a crawl."""
    depth: int | None = None
    """Of a crawl."""
    params: Mapping[str, object] | None = None
    """The parameters of a crawl or the search of a run; without headers, which may be secret."""
    article_ids: tuple[str, ...] | None = ()
    """The pages of the job so far, in their order; `GET /pages/{id}` shows each."""
    next_cursor: str | None = None
    """Send this as `cursor` for the next `start_urls` and `article_ids`; absent: that was all."""
    door: str
    state: Literal["scheduled", "queued", "running", "succeeded", "partial", "failed", "cancelled"]
    """The state in the engine's terms, the same for all doors."""
    paused: bool | None = None
    eta: datetime | None = None
    """The predicted end of the job, where it can be predicted."""
    finish_by: datetime | None = None
    in_time: bool | None = None
    """Whether the job ended by `finish_by`, or is predicted to."""
    schedule_id: str | None = None
    """The schedule that created the job."""
    schedule_name: str | None = None
    next_run: datetime | None = None
    """The next slot of that schedule; for a job that waits for its slot, that slot."""
    job_id: str
    status: str
    spider: str
    spider_job_id: str
    """For built-in spiders, the same as `job_id`."""
    total_pages: int
    """Pages found so far: the number grows while the crawl runs."""
    completed: int
    failed: int
    cancelled: int = 0
    pending: int
    created_at: datetime
    updated_at: datetime
    started_at: datetime | None = None
    finished_at: datetime | None = None
    user_id: str | None = None
    name: str | None = None
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class WholeRunJob(Answer):
    """A run of a site, with what was asked for."""

    start_urls: tuple[str, ...] | None = ()
    """Of a crawl."""
    depth: int | None = None
    """Of a crawl."""
    params: Mapping[str, object] | None = None
    """The parameters of a crawl or the search of a run; without headers, which may be secret."""
    article_ids: tuple[str, ...] | None = ()
    """The pages of the job so far, in their order; `GET /pages/{id}` shows each."""
    next_cursor: str | None = None
    """Send this as `cursor` for the next `start_urls` and `article_ids`; absent: that was all."""
    door: str
    state: Literal["scheduled", "queued", "running", "succeeded", "partial", "failed", "cancelled"]
    """The state in the engine's terms, the same for all doors."""
    paused: bool | None = None
    eta: datetime | None = None
    """The predicted end of the job, where it can be predicted."""
    finish_by: datetime | None = None
    in_time: bool | None = None
    """Whether the job ended by `finish_by`, or is predicted to."""
    schedule_id: str | None = None
    """The schedule that created the job."""
    schedule_name: str | None = None
    next_run: datetime | None = None
    """The next slot of that schedule; for a job that waits for its slot, that slot."""
    run_id: str
    task_id: str
    site_name: str | None
    status: str
    trigger: str
    requested_pages: int
    completed_pages: int
    errors_count: int
    message: str | None = None
    created_at: datetime
    started_at: datetime | None = None
    finished_at: datetime | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class ListedFetchJob(Answer):
    door: str
    state: Literal["scheduled", "queued", "running", "succeeded", "partial", "failed", "cancelled"]
    """The state in the engine's terms, the same for all doors."""
    paused: bool | None = None
    eta: datetime | None = None
    """The predicted end of the job, where it can be predicted."""
    finish_by: datetime | None = None
    in_time: bool | None = None
    """Whether the job ended by `finish_by`, or is predicted to."""
    schedule_id: str | None = None
    """The schedule that created the job."""
    schedule_name: str | None = None
    next_run: datetime | None = None
    """The next slot of that schedule; for a job that waits for its slot, that slot."""
    id: str
    url: str
    """The job's first page."""
    status: str
    error: str | None = None
    """Why the job failed, in a sentence."""
    created_at: datetime
    name: str | None
    """The job's own name, or the site of a run."""
    total: int
    """Pages of the job so far."""
    completed: int
    failed: int
    finished_at: datetime | None


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class ListedArticlesJob(Answer):
    door: str
    state: Literal["scheduled", "queued", "running", "succeeded", "partial", "failed", "cancelled"]
    """The state in the engine's terms, the same for all doors."""
    paused: bool | None = None
    eta: datetime | None = None
    """The predicted end of the job, where it can be predicted."""
    finish_by: datetime | None = None
    in_time: bool | None = None
    """Whether the job ended by `finish_by`, or is predicted to."""
    schedule_id: str | None = None
    """The schedule that created the job."""
    schedule_name: str | None = None
    next_run: datetime | None = None
    """The next slot of that schedule; for a job that waits for its slot, that slot."""
    job_id: str
    status: str
    total_articles: int
    completed: int
    failed: int
    cancelled: int = 0
    pending: int
    cached_articles: int
    created_at: datetime
    updated_at: datetime
    completed_at: datetime | None = None
    name: str | None
    """The job's own name, or the site of a run."""
    tags: tuple[str, ...] = ()
    id: str
    total: int
    """Pages of the job so far."""
    finished_at: datetime | None
    url: str | None = None
    """The job's first page."""


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class ListedCrawlJob(Answer):
    door: str
    state: Literal["scheduled", "queued", "running", "succeeded", "partial", "failed", "cancelled"]
    """The state in the engine's terms, the same for all doors."""
    paused: bool | None = None
    eta: datetime | None = None
    """The predicted end of the job, where it can be predicted."""
    finish_by: datetime | None = None
    in_time: bool | None = None
    """Whether the job ended by `finish_by`, or is predicted to."""
    schedule_id: str | None = None
    """The schedule that created the job."""
    schedule_name: str | None = None
    next_run: datetime | None = None
    """The next slot of that schedule; for a job that waits for its slot, that slot."""
    job_id: str
    status: str
    spider: str
    spider_job_id: str
    """For built-in spiders, the same as `job_id`."""
    total_pages: int
    """Pages found so far: the number grows while the crawl runs."""
    completed: int
    failed: int
    cancelled: int = 0
    pending: int
    created_at: datetime
    updated_at: datetime
    started_at: datetime | None = None
    finished_at: datetime | None
    user_id: str | None = None
    name: str | None
    """The job's own name, or the site of a run."""
    tags: tuple[str, ...] = ()
    id: str
    total: int
    """Pages of the job so far."""
    url: str | None = None
    """The job's first page."""


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class ListedRunJob(Answer):
    door: str
    state: Literal["scheduled", "queued", "running", "succeeded", "partial", "failed", "cancelled"]
    """The state in the engine's terms, the same for all doors."""
    paused: bool | None = None
    eta: datetime | None = None
    """The predicted end of the job, where it can be predicted."""
    finish_by: datetime | None = None
    in_time: bool | None = None
    """Whether the job ended by `finish_by`, or is predicted to."""
    schedule_id: str | None = None
    """The schedule that created the job."""
    schedule_name: str | None = None
    next_run: datetime | None = None
    """The next slot of that schedule; for a job that waits for its slot, that slot."""
    run_id: str
    task_id: str
    site_name: str | None
    status: str
    trigger: str
    requested_pages: int
    completed_pages: int
    errors_count: int
    message: str | None = None
    created_at: datetime
    started_at: datetime | None = None
    finished_at: datetime | None
    id: str
    name: str | None
    """The job's own name, or the site of a run."""
    total: int
    """Pages of the job so far."""
    completed: int
    failed: int
    url: str | None = None
    """The job's first page."""


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class JobList(Answer):
    jobs: tuple[ListedFetchJob | ListedArticlesJob | ListedCrawlJob | ListedRunJob, ...]
    total: int
    total_is_capped: bool
    """True: there are more jobs than `total`; counting stopped there."""
    limit: int
    skip: int
    next_cursor: str | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Cancelled(Answer):
    job_id: str
    status: str
    message: str


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Changed(Answer):
    job_id: str
    status: str
    message: str
    pages: int


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class PlannedAtSource(Answer):
    """The part of a planned job at one source."""

    source: str
    pages: int
    ahead: int
    """Visits that would be fetched before the job's last page."""
    predicted_start_at: datetime | None = None
    predicted_finish_at: datetime | None = None
    """Both null: the source is paused."""


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Reason(Answer):
    """One reason why something waits."""

    code: str
    """For programs; docs/reference/reasons.md lists all codes."""
    because: str
    """For people: the reason as a sentence."""
    until: datetime | None = None
    """When the reason ends by itself; null: when something else happens."""
    frees: str | None = None
    """What would end the wait earlier."""
    data: Mapping[str, object]


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Suggestion(Answer):
    """The job would end too late. Each of these changes alone would let it end in time, at the
    source that ends last; changes that would not suffice are left out."""

    source: str
    pages_in_time: int
    """How many of the job's pages would be in time without a change."""
    with_priority_1_finish_at: datetime | None = None
    """When the job would end if all its pages had priority 1."""
    min_delay_seconds_needed: float | None = None
    """The delay between two requests to the source."""
    requests_per_hour_needed: int | None = None
    without_respectful_hours_finish_at: datetime | None = None
    """When the job would end if the source had no `respectful_hours`."""


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Plan(Answer):
    """The plan of a `dry_run`; nothing was submitted."""

    dry_run: bool = True
    total: int
    new: int
    cached: int
    """Stored pages no older than `max_age`, which would not be fetched."""
    joined: int
    """Pages that other jobs wait for already: they would be fetched once for all."""
    refused_by_robots: int
    """Pages that robots.txt forbids, as far as the robots.txt of their hosts is known here."""
    refused_by_guard: int
    """URLs at addresses that must not be fetched: a submit would be refused."""
    refused_urls: tuple[str, ...]
    """The first hundred of both kinds."""
    sources: tuple[PlannedAtSource, ...]
    """At most a hundred, the last to end first."""
    reasons: tuple[Reason, ...]
    """What blocks the job until a person acts: pauses, or a lack of workers."""
    predicted_finish_at: datetime | None = None
    """Left out if a source is paused, since no prediction is possible."""
    assumes_worker: bool = False
    """True: no worker is running, so every predicted time holds only if one is started now."""
    finish_by: datetime | None = None
    in_time: bool | None = None
    suggestion: Suggestion | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class SourceOfJob(Answer):
    """What a job waits for at one source."""

    source: str
    pages: int
    ahead: int
    """Visits that are fetched before the job's first page."""
    reasons: tuple[Reason, ...]
    predicted_start_at: datetime | None
    predicted_finish_at: datetime | None
    """Both null: the source waits for a person, so no prediction is possible."""


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Ledger(Answer):
    """Where the time of the job's pages went: hours, summed over the pages."""

    capacity: float
    """No worker had a free slot."""
    politeness: float
    """Other pages of the same source were fetched first, at its pace, or the source was
    paused."""
    closed_hours: float
    backoff: float
    """Rests after failures, and waits between attempts."""
    fetching: float


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class JobWaiting(Answer):
    """Why a job waits."""

    job_id: str
    state: str
    """The state in the engine's terms, or `paused`."""
    reasons: tuple[Reason, ...]
    """Reasons that hold the whole job."""
    sources: tuple[SourceOfJob, ...]
    """At most twenty, the last to end first."""
    more_sources: int = 0
    eta: datetime | None = None
    finish_by: datetime | None = None
    in_time: bool | None = None
    """Whether the job is predicted to end by `finish_by`."""
    ledger: Ledger
    as_of: datetime


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Waiting(Answer):
    """Why a page or a source waits."""

    name: str
    state: str
    """`waiting`, `ready`, `in_flight`, `held`, `idle` or `ended`."""
    reasons: tuple[Reason, ...]
    ahead: int | None = None
    """Visits that are fetched first; for a source, the number of waiting visits."""
    predicted_start_at: datetime | None = None
    as_of: datetime


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Failure(Answer):
    """An attempt at a page of the job that failed."""

    page: str
    """`GET /pages/{id}` shows all its attempts."""
    url: str | None
    attempt: int
    """1 is the first; others are retries."""
    kind: str | None
    error: str | None
    traceback: str | None
    """Of a scraper; null for callers who see only their own jobs."""
    memory_bytes: int | None
    duration_ms: int
    ended_at: datetime


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Performance(Answer):
    job_id: str
    duration_seconds: float | None
    """From the start of the job's first page to its end, or to now; null: none has started."""
    attempts: int
    """Requests for pages of the job while it waited for them."""
    retries: int
    """Those of them that followed a failure."""
    longest_attempt_ms: int | None
    peak_memory_bytes: int | None
    """Of the processes that parsed its pages; null: none was parsed."""
    is_capped: bool
    """The job has more pages than were looked at, which are the first 1,000."""
    failures: tuple[Failure, ...]
    """The newest first, at most 5."""


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Attempt(Answer):
    """One attempt to fetch a page. `turn` counts all attempts at the page, `attempt` those of
    one visit."""

    turn: int
    attempt: int
    url: str | None
    outcome: str
    """fetched, not_modified, moved, again, failed"""
    kind: str | None = None
    status: int | None = None
    bytes: int | None = None
    """Bytes as transferred."""
    memory: int | None = None
    """Peak memory of the process that parsed the page, in bytes."""
    error: str | None = None
    traceback: str | None = None
    worker: str | None = None
    """Worker and traceback are hidden from callers who see only their own jobs."""
    started_at: datetime
    ended_at: datetime


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Page(Answer):
    id: str
    url: str
    host: str
    source: str
    scraper: str
    status: Literal["PENDING", "SCRAPING", "SCRAPED", "FAILED", "CANCELLED"]
    state: Literal["pending", "retry", "started", "success", "dead_letter", "cancelled"]
    error_message: str | None = None
    error_kind: str | None = None
    retry_count: int
    """How often the last visit requested the page again after a failure; while the page waits
    for a retry, with that one."""
    reference_count: int | None = None
    """How many items of jobs requested the page; hidden like `worker`."""
    etag: str | None = None
    last_modified: str | None = None
    document_version: int
    """The version of the newest content; 0: there is none."""
    created_at: datetime
    checked_at: datetime | None = None
    fetched_at: datetime | None = None
    due_at: datetime | None = None
    """The time of the next attempt, if one is set."""
    current_url: str | None = None
    """The target of a redirect that is being followed."""
    history: tuple[Attempt, ...]
    """Newest first, at most 200. Callers who see only their own jobs get the attempts since
    their first request for the page."""


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class RunStarted(Answer):
    task_id: str
    run_id: str
    status: Literal["queued", "running", "succeeded", "partial", "failed", "cancelled"]
    execution_mode: Literal["async", "sync"]


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Changes(Answer):
    """How the records changed since the last run of the same search."""

    new: int
    changed: int
    same: int
    removed: int


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Run(Answer):
    """A run of a site, with its results."""

    task_id: str
    run_id: str
    status: Literal["queued", "running", "succeeded", "partial", "failed", "cancelled"]
    execution_mode: Literal["async", "sync"]
    site_name: str
    trigger: Literal["schedule", "manual"]
    site_schedule_id: str | None
    requested_pages: int
    completed_pages: int
    errors_count: int
    message: str | None
    started_at: datetime | None
    finished_at: datetime | None
    changes: Changes | None
    """Null: the run has not ended yet."""
    results: tuple[Mapping[str, object], ...]
    """Records. In each, `_change` is `new`, `changed`, `same` or `removed`, and `_key`
    identifies the record across runs."""


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Site(Answer):
    """A site that can be scraped by name."""

    site_name: str
    enabled: bool
    interval_minutes: int | None
    """The current interval of its schedule; null: the site uses `cron`, or has no schedule."""
    cron: str | None
    min_pause_seconds: float
    max_pause_seconds: float
    max_retries: int
    last_run_at: datetime | None
    next_run_at: datetime | None
    site_schedule_id: str | None
    search: tuple[str, ...]
    """The search fields that a run accepts."""


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Sites(Answer):
    sites: tuple[Site, ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Queued(Answer):
    """A slot that was due, and its outcome."""

    schedule: str
    fire_at: datetime
    outcome: str
    """`fired`, or why the slot did not fire: `skipped`, `refused`."""
    job_id: str | None
    message: str | None


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class SchedulerTick(Answer):
    queued: tuple[Queued, ...]
    """The slots that were due, with their outcomes."""


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class SchedulerStatus(Answer):
    schedulers: int
    """Live scheduler processes."""
    schedules: int
    enabled: int
    next_run_at: datetime | None
    last_run_at: datetime | None
    fired_last_hour: int
    late_last_hour: int
    """Slots that fired more than a second late."""
    worst_lag_seconds: float | None
    """The largest delay in the last hour."""


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class BandStatus(Answer):
    """The waiting pages of one priority band; pages in flight do not count."""

    waiting: int
    due_retries: int
    """Postponed pages that are due now."""
    later_retries: int
    """Postponed pages that are not due yet."""
    oldest_wait_seconds: float | None
    """Age of the oldest page that could start; null: no page could."""
    capped: bool
    """True: more pages than `waiting` may wait; counting stopped there."""
    retries_capped: bool
    """The same for the retries."""


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Bands(Answer):
    high: BandStatus
    """Priorities 1 to 3."""
    medium: BandStatus
    """4 to 7."""
    low: BandStatus
    """8 to 10."""


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Latency(Answer):
    """Milliseconds from the start of an attempt to its result."""

    p50: int
    p95: int
    p99: int


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class QueueStatus(Answer):
    bands: Bands
    in_flight: int
    """Pages that live workers are fetching."""
    workers: int
    """Live workers."""
    pages_per_minute: float
    """Pages that ended in the last minute, successful or not."""
    latency_ms: Latency | None
    """Latency of the newest attempts; null: there are none."""
    attempts: int
    """How many attempts the latency was measured on."""


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class QueueHealth(Answer):
    """The health of the service and its queue."""

    service: Literal["ok", "degraded"]
    """`degraded`: there is no live worker, so nothing is fetched."""
    database: Literal["ok"] = "ok"
    workers: int
    in_flight: int
    waiting: int
    """Waiting pages of all bands, including retries that are due."""
    waiting_is_capped: bool
    oldest_wait_seconds: float | None
    success_rate: float | None
    """Share of the newest finished pages that succeeded, from 0 to 1; null: there are none."""


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class ForetoldSlot(Answer):
    """The predicted outcome of one slot of a schedule."""

    schedule: str
    fire_at: datetime
    outcome: Literal["fired", "skipped", "waiting", "refused"]
    starts_at: datetime | None
    """Later than `fire_at` where the slot waits for the previous run."""
    pages: int
    pages_at_most: int
    """Larger than `pages` where links are followed."""
    ends_at: datetime | None
    """Null: there is nothing to fetch, or one of the sources is paused."""
    ends_at_most: str | None


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class BusyHour(Answer):
    """The predicted load of a source in one hour."""

    source: str
    hour: datetime
    pages: int
    pages_at_most: int


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class ForetoldClash(Answer):
    """Two schedules that compete for one source."""

    source: str
    schedules: tuple[str, ...]
    """Two names: one schedule fires while pages of the other wait at the source."""
    first_at: datetime
    times: int
    certain: bool
    """False: only if a crawl finds as many pages as it may fetch."""


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class ForetoldOverrun(Answer):
    """A schedule whose run is predicted to end after its next slot."""

    schedule: str
    first_at: datetime
    times: int
    """Slots whose run cannot end before the next slot."""
    takes_seconds: float | None
    """The longest of these runs; null: no prediction, since a source is paused."""
    next_after_seconds: float
    overlap: Literal["skip", "queue_one", "cancel_running", "allow"]
    """The rule for the next slot."""
    certain: bool


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class SchedulerPlan(Answer):
    since: datetime
    until: datetime
    capped: bool
    """True: the preview is incomplete. It ends at `until`, or leaves schedules out."""
    schedules: int
    slots_total: int
    fired: int
    skipped: int
    pages: int
    pages_at_most: int
    slots: tuple[ForetoldSlot, ...]
    """The first slots, up to `limit`."""
    busiest: tuple[BusyHour, ...]
    """Hours of sources, the busiest first; at most a hundred."""
    clashes: tuple[ForetoldClash, ...]
    overruns: tuple[ForetoldOverrun, ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Next(Answer):
    """A slot to come, in UTC and in the zone of its schedule."""

    utc: datetime
    local: str
    clock_changes: bool
    """Whether the zone's clocks change on this day."""


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Schedule(Answer):
    id: str
    name: str
    kind: Literal["job", "maintenance"]
    """`maintenance`: slots run a duty of curtsy itself, not a job."""
    when: str
    """The rule as text."""
    cron: str | None = None
    every_minutes: int | None = None
    jitter: bool | None = None
    after_end: bool | None = None
    at: datetime | None = None
    timezone: str
    not_before: datetime | None = None
    overlap: Literal["skip", "queue_one", "cancel_running", "allow"]
    catch_up: Literal["latest", "none", "all"]
    catch_up_minutes: int
    enabled: bool
    state: Literal["waiting", "paused", "done"]
    """`done`: the schedule has no slot left."""
    next_run: datetime | None = None
    next_runs: tuple[Next, ...] | None = ()
    last_run: datetime | None = None
    last_outcome: str | None = None
    """Only in a list: the status of the last run's job, or the outcome of its slot."""
    payload: Mapping[str, object]
    """The values of headers and the paths of webhook URLs are shown as ***; a change that
    sends those back keeps what is stored."""
    user_id: str | None = None
    note: str | None = None
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class ScheduleList(Answer):
    schedules: tuple[Schedule, ...]
    limit: int
    next_cursor: str | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class ScheduleRemoved(Answer):
    id: str
    message: str


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Slot(Answer):
    """A slot that has passed, and its outcome."""

    fire_at: datetime
    fired_at: datetime
    trigger: Literal["schedule", "manual"]
    outcome: Literal["fired", "waiting", "skipped", "missed", "refused"]
    job_id: str | None = None
    status: str | None = None
    """The status of the job, in the terms of its door."""
    message: str | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class SlotList(Answer):
    runs: tuple[Slot, ...]
    limit: int
    next_cursor: str | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class RespectfulHours(Answer):
    """Hours of the day with fewer requests (`slowdown`) or none (`closed`). A pair of hours,
    `[9, 17]`, is short for those hours in UTC with a slowdown of 2."""

    start: str
    end: str
    """If before `start`, the hours last past midnight."""
    timezone: str = "UTC"
    slowdown: float | None = None
    """The factor by which delays grow and the hourly limit shrinks."""
    closed: bool = False


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class SuccessFields(Answer):
    """What shows that a login succeeded: all of the given signs."""

    status: tuple[int, ...] | None = ()
    url: str | None = None
    """The whole URL of the response, or of where it redirects to; `*` stands for any
    characters."""
    text: str | None = None
    """Occurs in the body, exactly so."""
    selector: str | None = None
    """A CSS selector that matches an element."""
    cookie: str | None = None
    """The name of a cookie that gets a new value."""


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class SignFields(Answer):
    """What a response is recognised by."""

    status: tuple[int, ...] | None = ()
    url: str | None = None
    """The whole URL of the response, or of where it redirects to; `*` stands for any
    characters."""
    text: str | None = None
    """Occurs in the body, exactly so."""
    selector: str | None = None
    """A CSS selector that matches an element."""


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class LoginFields(Answer):
    """A login: the request that a session begins with, and how its success shows."""

    url: str
    """Where the form is sent: on one of the hosts of the source."""
    method: Literal["POST", "GET"] = "POST"
    form: Mapping[str, str]
    """The fields of the form. Their values are shown as ***."""
    send_as: Literal["form", "json"] = "form"
    form_from: str | None = None
    """A page that is fetched first: the hidden fields of its form are sent along."""
    success: SuccessFields
    """What shows that it succeeded: all of these."""
    lost: SignFields | None = None
    """What shows that a page was fetched without the session: any of these. Default: status
    401, or a redirect to `url` or `form_from`."""


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class PolicyInForce(Answer):
    """The policy in force, with all defaults. Null: there is no such limit."""

    hosts: tuple[str, ...] | None = ()
    """Empty: all hosts have moved to other sources."""
    requests_per_hour: int | None = None
    burst_limit: int | None = None
    min_delay_seconds: float | None = None
    max_delay_seconds: float | None = None
    """If above `min_delay_seconds`, each delay is random between the two."""
    concurrency: int | None = None
    lanes: Literal[1] | None = None
    """Only one worker at a time sends requests to a source."""
    respectful_hours: RespectfulHours | None = None
    max_retries: int | None = None
    timeout: float | None = None
    """Seconds, for a whole attempt."""
    robots: Literal["obey", "ignore"] | None = None
    crawl_delay_cap_seconds: float | None = None
    headers: Mapping[str, str] | None = None
    user_agent: str | None = None
    """Should name a contact: site owners are less likely to block a client that they can
    reach."""
    proxy: str | None = None
    """http://, https:// or socks5://, then user:password@ if it has them, then host:port."""
    proxies: tuple[str, ...] | None = ()
    """Several: each request goes through the next one, and a proxy that fails rests for a
    while. `proxy` is one of them, too."""
    login: LoginFields | None = None
    """For jobs with a session: sent before their first page, and again when the session is
    lost."""
    enabled: bool | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Resting(Answer):
    """A rest after failures of the host: no request for a while, then a single page as a
    probe."""

    because: str
    kind: str
    status: int | None = None
    """The HTTP status of the host's last answer."""
    announced: bool
    """Whether the host asked for the rest, for example by Retry-After."""
    failures: int
    """Consecutive failures, without those that the host announced."""
    until: datetime | None = None
    """Null: the rest is over, and one page is tried."""


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class ReceiptDay(Answer):
    day: str | None = None
    """In UTC; null in the total of all days."""
    requests: int
    """All requests, including those for robots.txt."""
    robots_requests: int
    robots_refusals: int
    """Pages not requested because robots.txt forbids them."""
    smallest_gap_seconds: float | None
    """The smallest gap between two requests."""
    retry_afters_honoured: int
    rests_of_our_own: int
    """Rests after a failure that the site did not ask for."""
    not_modified: int
    bytes: int
    bytes_saved: int
    """Bytes not transferred again, since the page was unchanged."""


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Source(Answer):
    name: str
    hosts: tuple[str, ...]
    """Hosts that share the budget of the source."""
    hosts_are_all: bool
    """False: the source has more hosts than `hosts` lists."""
    described: bool
    """Whether the source has a description; otherwise the defaults of the settings apply."""
    said: Mapping[str, object]
    """The description, in the fields of `PUT`. Secrets are shown as ***."""
    policy: PolicyInForce
    paused: bool
    paused_by: str | None = None
    """A user, `anyone` where no key is required, or `policy`: the source is not enabled."""
    waiting: int
    waiting_is_capped: bool
    """True: more visits wait than `waiting`. One source is counted up to 10,000, sources of a
    long list up to a smaller number."""
    next_start_at: datetime | None = None
    """Null: at once, or never while the source is paused."""
    waits_for: str | None = None
    """The rule behind `next_start_at`: `delay`, `hourly_limit`, `closed_hours` or `rest`."""
    in_respectful_hours: bool
    crawl_delay_seconds: float | None = None
    """The crawl delay of its robots.txt."""
    resting: Resting | None = None
    used_this_hour: int | None = None
    """Requests in the last 60 minutes; null: there is no hourly limit."""
    utilisation: float | None = None
    """The used share of the hourly limit, from 0 to 1."""
    today: ReceiptDay
    """The requests to the source since midnight, UTC."""


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class SourceList(Answer):
    sources: tuple[Source, ...]
    """Sorted by name."""
    limit: int
    next_cursor: str | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Forgotten(Answer):
    name: str
    message: str


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Receipt(Answer):
    """The requests that curtsy sent to a source, and the limits that it promises to keep."""

    source: str
    hosts: tuple[str, ...]
    user_agent: str
    """The user agent of the requests."""
    promised_gap_seconds: float
    """By the current policy and the site's robots.txt; 0: only concurrent requests are
    limited."""
    promised_at_once: int
    promised_requests_per_hour: int | None = None
    obeys_robots: bool
    days: tuple[ReceiptDay, ...]
    """Newest first; days without a request are left out."""
    total: ReceiptDay
    as_of: datetime


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class DeadLetter(Answer):
    """A page that failed for good."""

    id: int
    page_id: str
    url: str
    source: str
    kind: str
    family: Literal["network", "parsing", "database", "rate limiting", "resource"]
    error: str
    attempts: int
    """How often the page was requested before it was given up, robots.txt not counted. 0: its
    host was given up first."""
    retries: int
    """How often the dead letter was retried since."""
    final: bool
    """A retry cannot help, although failures of this kind usually pass: the host's name does
    not exist. The duty `dead_letters` leaves the letter alone."""
    times: int
    """How often the page was given up since the letter was opened, as by each run of a
    schedule."""
    state: Literal["open", "retried", "resolved"]
    created_at: datetime
    last_failed_at: datetime
    """When the page was given up last; kind, error, attempts and traceback are of that time."""


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class DeadLetterGroup(Answer):
    """Open dead letters with the same cause."""

    kind: str
    family: Literal["network", "parsing", "database", "rate limiting", "resource"]
    means: str
    retried: bool
    """Whether failures of this kind are retried automatically; false also if all these are
    final."""
    final: int
    """How many of them are final."""
    count: int
    count_is_capped: bool
    newest: DeadLetter


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class DeadLetterList(Answer):
    groups: tuple[DeadLetterGroup, ...]
    letters: tuple[DeadLetter, ...]
    limit: int
    next_cursor: str | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class DeadLetterStory(Answer):
    """A dead letter with the history of its page."""

    id: int
    page_id: str
    url: str
    source: str
    kind: str
    family: Literal["network", "parsing", "database", "rate limiting", "resource"]
    error: str
    attempts: int
    """How often the page was requested before it was given up, robots.txt not counted. 0: its
    host was given up first."""
    retries: int
    """How often the dead letter was retried since."""
    final: bool
    """A retry cannot help, although failures of this kind usually pass: the host's name does
    not exist. The duty `dead_letters` leaves the letter alone."""
    times: int
    """How often the page was given up since the letter was opened, as by each run of a
    schedule."""
    state: Literal["open", "retried", "resolved"]
    created_at: datetime
    last_failed_at: datetime
    """When the page was given up last; kind, error, attempts and traceback are of that time."""
    traceback: str | None = None
    history: tuple[Attempt, ...]
    """All attempts at the page, the newest first."""


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class SettledLetters(Answer):
    """What a retry or resolve changed, or with `preview` would change."""

    preview: bool
    letters: int
    """Letters that were changed; in a preview, that would be changed."""
    letters_is_capped: bool = False
    pages: int = 0
    """Pages that were queued again."""
    jobs: int = 0
    """Jobs that were reopened."""
    resolved: int = 0
    """Letters that were resolved; of a retry, those whose pages no job wants any more."""
    left: int = 0
    """Letters still to be changed: send the request again. Counted up to 10,000."""
    groups: tuple[DeadLetterGroup, ...] = ()


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Alert(Answer):
    """An alert of a rule: about one source, site, schedule or worker, or about the system."""

    rule: str
    subject: str
    """Empty: the whole system."""
    phase: Literal["firing", "pending", "resolved"]
    severity: Literal["info", "warning", "critical"]
    value: float | None
    """As last known."""
    threshold: float | None
    unit: str
    says: str
    """A sentence."""
    to_do: str | None
    """What to do first."""
    since: datetime
    """When this phase began."""
    fired_at: datetime | None
    resolved_at: datetime | None
    muted_until: datetime | None


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class AlertList(Answer):
    alerts: tuple[Alert, ...]
    firing: int
    pending: int
    evaluated_at: datetime | None
    """When the rules were last evaluated; a scheduler does it about every 15 seconds."""


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class AlertRule(Answer):
    """A rule, with its defaults. Spans are seconds."""

    name: str
    builtin: bool
    changed: Mapping[str, object]
    """The fields that `alerts.toml` or the API set."""
    of_file: bool
    """It stands in `alerts.toml`; a change through the API holds until its section changes."""
    metric: str
    about: str | None
    """What one alert is about, such as a source; null: the whole system."""
    above: float | None
    below: float | None
    clear_: float
    for_: float
    unit: str
    severity: Literal["info", "warning", "critical"]
    window: float | None
    at_least: int | None
    only: tuple[str, ...]
    except_: tuple[str, ...]
    channels: tuple[str, ...]
    enabled: bool
    muted_until: datetime | None
    """All alerts of the rule are muted until then."""


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class RuleList(Answer):
    rules: tuple[AlertRule, ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class RuleDeleted(Answer):
    name: str
    message: str


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Mute(Answer):
    """A mute, as it is now."""

    rule: str
    subject: str
    until: datetime | None
    """null: not muted."""


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class AlertDelivery(Answer):
    """A message to a channel."""

    id: int
    channel: str
    test: bool
    state: Literal["waiting", "delivered", "failed"]
    attempts: int
    next_at: datetime | None
    error: str | None
    created_at: datetime
    ended_at: datetime | None


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Channel(Answer):
    """A channel of `alerts.toml`, without its secrets."""

    name: str
    kind: str
    leads_to: str
    severity: str
    """The least severity of the alerts whose messages it gets."""
    private: bool
    enabled: bool
    last: AlertDelivery | None
    """The newest message to it."""


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class ChannelList(Answer):
    channels: tuple[Channel, ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Quantiles(Answer):
    """Milliseconds, from counts in fixed buckets: exact to about a quarter of the figure."""

    p50: int
    p95: int
    p99: int
    mean: int
    number: int
    """How many attempts were measured."""


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Figures(Answer):
    """What happened in a period."""

    requests: int
    """For pages; those for robots.txt do not count."""
    attempts: Mapping[str, int]
    """Requests by outcome: fetched, not_modified, moved, again, failed."""
    succeeded: int
    """Pages that ended as fetched or not modified."""
    failed: int
    """Pages that were given up, with or without a request."""
    success_rate: float | None
    """Share of successes among these, from 0 to 1; null: no page ended."""
    pages_per_minute: float
    retries: int
    """Failures after which the page waits for another try."""
    bytes: int
    new_dead_letters: int
    failures_by_kind: Mapping[str, int]
    """Failed requests."""
    retries_by_kind: Mapping[str, int]
    given_up_by_kind: Mapping[str, int]
    """Pages given up, by their last failure."""
    fetch_ms: Quantiles | None
    """From the request to the record; null: there were no requests."""
    wait_ms: Quantiles | None
    """From when the page could have been requested to its request."""
    waited_seconds: Mapping[str, float]
    """All waits of pages together, by reason: capacity (no free slot), politeness (the site's
    pace), closed (its hours), backoff (its rests and the waits for another try)."""


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class SourceFigures(Answer):
    requests: int
    """For pages; those for robots.txt do not count."""
    attempts: Mapping[str, int]
    """Requests by outcome: fetched, not_modified, moved, again, failed."""
    succeeded: int
    """Pages that ended as fetched or not modified."""
    failed: int
    """Pages that were given up, with or without a request."""
    success_rate: float | None
    """Share of successes among these, from 0 to 1; null: no page ended."""
    pages_per_minute: float
    retries: int
    """Failures after which the page waits for another try."""
    bytes: int
    new_dead_letters: int
    failures_by_kind: Mapping[str, int]
    """Failed requests."""
    retries_by_kind: Mapping[str, int]
    given_up_by_kind: Mapping[str, int]
    """Pages given up, by their last failure."""
    fetch_ms: Quantiles | None
    """From the request to the record; null: there were no requests."""
    wait_ms: Quantiles | None
    """From when the page could have been requested to its request."""
    waited_seconds: Mapping[str, float]
    """All waits of pages together, by reason: capacity (no free slot), politeness (the site's
    pace), closed (its hours), backoff (its rests and the waits for another try)."""
    source: str | None
    """null: it was deleted."""


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class SourcePeriod(Answer):
    """Figures by source. They are known by the hour for two days, later by the day."""

    since: datetime
    until: datetime
    busiest: tuple[SourceFigures, ...]
    """Those with most requests."""
    failing: tuple[SourceFigures, ...]
    """Those with most failed requests."""


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class SiteFigures(Answer):
    """The runs of a declared site that were created in the period."""

    site: str
    since: datetime
    """Later than the period's beginning if the site had more than 500 runs: then the newest
    500 are counted."""
    runs: int
    succeeded: int
    partial: int
    failed: int
    cancelled: int
    pages: int
    failed_pages: int
    success_rate: float | None
    """Of pages."""
    mean_seconds: float | None
    """How long its finished runs took."""
    longest_seconds: float | None


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class QueueOfSource(Answer):
    source: str
    ready: int
    later: int
    """Pages that wait for an instant, mostly for another try."""
    capped: bool
    """True: a number stopped at 1000."""


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Queue(Answer):
    """What waits now."""

    bands: Bands
    in_flight: int
    sources: tuple[QueueOfSource, ...]
    """The longest, among the sources that are being fetched or could be, and those of
    `sources`."""


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class LettersOfKind(Answer):
    kind: str
    open: int
    capped: bool
    """True: counting stopped at 10,000."""


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class LimitUse(Answer):
    """An hourly limit of a described source."""

    source: str
    limit: int
    used: int
    """Requests in the last 60 minutes."""
    utilisation: float


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class WorkerMemory(Answer):
    """A live worker, as of its last heartbeat."""

    worker: str
    machine: str
    memory_bytes: int | None
    """Resident, with its scrapers' processes; null: unknown."""
    in_flight: int


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class ScheduleLag(Answer):
    """From a slot to its firing."""

    since: datetime
    """The newest 5000 firings are counted, from here on."""
    fired: int
    p50_seconds: float
    p95_seconds: float
    worst_seconds: float


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class SeriesPoint(Answer):
    at: datetime
    """The beginning of its span."""
    requests: int
    succeeded: int
    failed: int
    retries: int
    bytes: int
    success_rate: float | None
    fetch_p95_ms: int | None
    wait_p95_ms: int | None


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Series(Answer):
    """The same period in spans of equal length; the last may not be over."""

    span_seconds: int
    points: tuple[SeriesPoint, ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Stats(Answer):
    """What happened in the last hours, and how things stand now."""

    requests: int
    """For pages; those for robots.txt do not count."""
    attempts: Mapping[str, int]
    """Requests by outcome: fetched, not_modified, moved, again, failed."""
    succeeded: int
    """Pages that ended as fetched or not modified."""
    failed: int
    """Pages that were given up, with or without a request."""
    success_rate: float | None
    """Share of successes among these, from 0 to 1; null: no page ended."""
    pages_per_minute: float
    retries: int
    """Failures after which the page waits for another try."""
    bytes: int
    new_dead_letters: int
    failures_by_kind: Mapping[str, int]
    """Failed requests."""
    retries_by_kind: Mapping[str, int]
    given_up_by_kind: Mapping[str, int]
    """Pages given up, by their last failure."""
    fetch_ms: Quantiles | None
    """From the request to the record; null: there were no requests."""
    wait_ms: Quantiles | None
    """From when the page could have been requested to its request."""
    waited_seconds: Mapping[str, float]
    """All waits of pages together, by reason: capacity (no free slot), politeness (the site's
    pace), closed (its hours), backoff (its rests and the waits for another try)."""
    asked_hours: int
    since: datetime
    """When the history began, or what was asked for; older counts are of whole spans of ten
    minutes, hours or days, and the one that overlaps the beginning counts whole."""
    until: datetime
    """What was not counted yet is later: seconds, or minutes with thousands of sources."""
    bands: Mapping[str, Figures]
    """By priority: high (1 to 3), medium (4 to 7), low (8 to 10)."""
    sources: SourcePeriod
    sites: tuple[SiteFigures, ...]
    """Those that ran last come first."""
    queue: Queue
    dead_letters: tuple[LettersOfKind, ...]
    """Open ones, by cause."""
    limits: tuple[LimitUse, ...]
    """The most used first."""
    workers: tuple[WorkerMemory, ...]
    schedule_lag: ScheduleLag | None
    """null: no slot fired."""
    series: Series


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class ListedReport(Answer):
    id: str
    trigger: Literal["schedule", "manual"]
    """`schedule`: the maintenance task `reports` made it; `manual`: a request did."""
    at: datetime
    since: datetime
    until: datetime
    ended: int
    """Pages that ended, well or not."""
    failed: int
    success_rate: float | None
    """Null: no page ended."""


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class ReportList(Answer):
    reports: tuple[ListedReport, ...]
    limit: int
    next_cursor: str | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class ReportFigures(Answer):
    """The headline figures of a span of time."""

    succeeded: int = 0
    """Pages that ended well."""
    failed: int = 0
    """Pages that were given up."""
    attempts: int = 0
    retries: int = 0
    bytes: int = 0
    new_dead_letters: int = 0
    success_rate: float | None = None
    """Of the pages that ended; None: none did."""
    pages_per_minute: float = 0.0
    fetch_p50_ms: int | None = None
    fetch_p95_ms: int | None = None
    fetch_p99_ms: int | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Finding(Answer):
    """Something that an operator should know first."""

    code: str
    sentence: str


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Point(Answer):
    """One bucket of the charts."""

    at: datetime
    until: datetime
    succeeded: int
    failed: int
    fetch_p50_ms: int | None = None
    fetch_p95_ms: int | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class SourceLine(Answer):
    source: str
    succeeded: int
    failed: int
    fetch_p50_ms: int | None = None
    fetch_p95_ms: int | None = None
    failed_before: int | None = None
    """In the period before; None: it had no page there."""
    fetch_p95_ms_before: int | None = None
    worst_kind: str | None = None
    """The failure kind that most of its failed pages had."""


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class FailureLine(Answer):
    kind: str
    number: int
    before: int
    means: str
    remedy: str


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class LetterLine(Answer):
    kind: str
    open: int
    capped: bool
    """More are open than were counted."""
    new: int
    """Given up within the period, among those that were counted."""
    means: str


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Waits(Answer):
    """For how long pages waited before their requests, summed, by reason."""

    capacity_ms: int = 0
    """For a free worker: the only backlog among them."""
    politeness_ms: int = 0
    closed_ms: int = 0
    backoff_ms: int = 0


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class GapLine(Answer):
    source: str
    smallest_gap_ms: int
    allowed_gap_ms: int
    """By the policy of the source at the time of the report."""


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Courtesy(Answer):
    """How sites were treated on the days (UTC) that the period touches, from the receipts."""

    first_day: str
    last_day: str
    sources: int = 0
    """Sources that were requested."""
    requests: int = 0
    robots_refusals: int = 0
    rests_announced: int = 0
    rests_of_our_own: int = 0
    not_modified: int = 0
    bytes: int = 0
    bytes_saved: int = 0
    too_close: int = 0
    """Sources with two requests closer together than allowed."""
    closest: tuple[GapLine, ...] = ()
    """Sources whose smallest gap is nearest to the allowed one."""


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class SiteLine(Answer):
    site: str
    runs: int
    failed_runs: int
    new: int
    changed: int
    removed: int


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class ReportSites(Answer):
    runs: int = 0
    failed_runs: int = 0
    new: int = 0
    changed: int = 0
    removed: int = 0
    capped: bool = False
    """Records of only the newest runs were counted."""
    lines: tuple[SiteLine, ...] = ()


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class ScheduleLine(Answer):
    schedule: str
    fired: int
    late: int
    missed: int
    refused: int


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class ReportSchedules(Answer):
    fired: int = 0
    late: int = 0
    """Slots that fired more than a minute after their time."""
    missed: int = 0
    skipped: int = 0
    refused: int = 0
    largest_lag_ms: int | None = None
    lines: tuple[ScheduleLine, ...] = ()
    """Schedules with a slot that was late, missed or refused."""


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class WorkerLine(Answer):
    worker: str
    machine: str
    pid: int
    alive: bool
    started_at: datetime
    slots: int
    open_requests: int
    memory_bytes: int | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Report(Answer):
    id: str
    at: datetime
    since: datetime
    until: datetime
    covered_since: datetime | None
    """From where there are figures; None: the period has none."""
    trigger: Literal["schedule", "manual"]
    version: str
    figures: ReportFigures
    before: ReportFigures | None = None
    """Of a span of the same length, just before; None: there are no figures of it."""
    findings: tuple[Finding, ...] = ()
    series: tuple[Point, ...] = ()
    slowest: tuple[SourceLine, ...] = ()
    failing: tuple[SourceLine, ...] = ()
    failures: tuple[FailureLine, ...] = ()
    letters: tuple[LetterLine, ...] = ()
    waits: Waits
    courtesy: Courtesy
    sites: ReportSites
    schedules: ReportSchedules
    workers: tuple[WorkerLine, ...] = ()
    workers_alive: int = 0
    workers_in_all: int = 0
    waiting: int = 0
    """Visits that wait at the end, counted up to a cap."""
    waiting_is_capped: bool = False


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class DeclaredSite(Answer):
    """A declared site."""

    name: str
    declared: Mapping[str, object]
    """The declaration as it was sent."""
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class SiteGone(Answer):
    """The confirmation that a site was deleted."""

    name: str
    message: str


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class SiteRecord(Answer):
    """A record that runs of a site found."""

    key: str
    record: Mapping[str, object]
    first_seen_at: datetime
    last_seen_at: datetime
    changed_at: datetime


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class RecordList(Answer):
    records: tuple[SiteRecord, ...]
    limit: int
    next_cursor: str | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class WhoYouAre(Answer):
    """The caller, with the role and quotas of the key."""

    user_id: str | None
    """Null where no key is required."""
    role: str
    pages_per_hour: int | None
    open_jobs: int | None
    """Quotas of the key; null: no quota."""
    csrf_token: str | None
    """With a cookie: send this as `X-CSRF-Token` with every request that changes something."""
    expires_at: datetime | None
    """When the cookie expires."""


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class WebhookDelivery(Answer):
    """A webhook request about the end of a job."""

    id: int
    url: str
    """Without path and query, which may contain a token."""
    state: str
    """`waiting`, `delivered` or `failed`."""
    round: int
    """Which end of the job the delivery reports: a job whose failures were retried ends again."""
    attempts: int
    status: int | None
    """The HTTP status of the last response."""
    error: str | None
    created_at: datetime
    next_attempt_at: datetime | None
    ended_at: datetime | None


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Deliveries(Answer):
    deliveries: tuple[WebhookDelivery, ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Replayed(Answer):
    delivery: int
    message: str


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class WebhookSecret(Answer):
    """The secret that signs the webhooks of a user's jobs."""

    user_id: str | None
    """Null: the jobs that no user owns."""
    secret: str
    old_secret_until: datetime | None
    """Until then deliveries have a second signature, with the secret before the last rotation."""


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Cleanup(Answer):
    state: Literal["idle", "running", "done", "failed"]
    """`idle`: this process has not run one."""
    days: int | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    deleted: Mapping[str, int]
    """What it has deleted so far, by kind; `bytes_given_back` counts those of a SQLite file."""
    message: str | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Worker(Answer):
    """A process that fetches pages, as of its last heartbeat."""

    id: str
    machine: str
    pid: int
    program: str
    process: str | None
    """Its place among the workers that one command runs, such as `2 of 4 under 812`, where 812
    is the command's process id; null if it is the only one."""
    started_at: datetime
    alive: bool
    """Whether its last heartbeat is within its lease."""
    lease_until: datetime
    draining: bool
    """Whether it finishes its open requests and starts no new ones."""
    in_flight: int
    pages: tuple[str, ...]
    """The pages that it is fetching."""
    leases: int
    """How many sources it has leased."""
    memory_bytes: int | None
    """Its resident memory, with the processes that run its scrapers; null where its system
    does not tell."""


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class WorkerList(Answer):
    workers: tuple[Worker, ...]
    """Ordered by start, the oldest first."""
    alive: int


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Version(Answer):
    name: str = "curtsy"
    version: str = "0.1.0"
    program_schema: str = "0022"
    """The newest schema of a database that this server knows."""


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class HealthFacts(Answer):
    store: Literal["ok", "away", "full"]
    """`full`: the database answers, but its disk has no room to store anything."""
    workers: int
    """Live workers."""
    version: str = "0.1.0"


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Health(Answer):
    store: Literal["ok", "away", "full"]
    """`full`: the database answers, but its disk has no room to store anything."""
    workers: int
    """Live workers."""
    version: str = "0.1.0"
    status: Literal["ok", "degraded"]
    """`degraded`: the store is away or full, or no worker is live, so nothing is fetched."""
    data: HealthFacts
    """The same facts once more, as in the envelope of the runs door."""
