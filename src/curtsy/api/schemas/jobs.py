"""Jobs, each in the fields and status words of the door that created it."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from curtsy.clock import rfc3339
from curtsy.events.run_log import task_id
from curtsy.jobs.asked import Asked as StoredAsked
from curtsy.jobs.job import Job as StoredJob
from curtsy.model.job_states import JobState, page_name
from curtsy.model.status_words import word
from curtsy.requests import examples


class AnyJob(BaseModel):
    door: str
    state: JobState
    """The state in the engine's terms, the same for all doors."""
    paused: bool | None = None
    eta: str | None = None
    """The predicted end of the job, where it can be predicted."""
    finish_by: str | None = None
    in_time: bool | None = None
    """Whether the job ended by `finish_by`, or is predicted to."""
    schedule_id: str | None = None
    """The schedule that created the job."""
    schedule_name: str | None = None
    next_run: str | None = None
    """The next slot of that schedule; for a job that waits for its slot, that slot."""


class FetchFields(AnyJob):
    id: str
    url: str
    status: str
    error: str | None = None
    """Why the job failed, in a sentence."""


class FetchSummary(FetchFields):
    created_at: str


class FetchJob(FetchFields):
    model_config = ConfigDict(json_schema_extra=examples.shown(examples.FETCH_COMPLETED))

    content: str | None = None
    """For a completed job: the text, or the bytes in base64."""
    content_encoding: str | None = None
    """`base64` where the content is not text."""
    content_type: str | None = None
    fetched_at: str | None = None


class ArticlesJob(AnyJob):
    """A job of the articles door. `completed` includes articles from the cache."""

    model_config = ConfigDict(json_schema_extra=examples.shown(examples.ARTICLES_STATUS))

    job_id: str
    status: str
    total_articles: int
    completed: int
    failed: int
    cancelled: int = 0
    pending: int
    cached_articles: int
    created_at: str
    updated_at: str
    completed_at: str | None = None
    name: str | None = None
    tags: list[str] = Field(default_factory=list)


class CrawlJob(AnyJob):
    model_config = ConfigDict(json_schema_extra=examples.shown(examples.CRAWL_STATUS))

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
    created_at: str
    updated_at: str
    started_at: str | None = None
    finished_at: str | None = None
    user_id: str | None = None
    name: str | None = None
    tags: list[str] = Field(default_factory=list)


class Asked(BaseModel):
    """What the job was asked for. `start_urls` and `article_ids` come a page at a time."""

    start_urls: list[str] | None = None
    """Of a crawl."""
    depth: int | None = None
    """Of a crawl."""
    params: dict[str, Any] | None = None
    """The parameters of a crawl or the search of a run; without headers, which may be secret."""
    article_ids: list[str] | None = None
    """The pages of the job so far, in their order; `GET /pages/{id}` shows each."""
    next_cursor: str | None = None
    """Send this as `cursor` for the next `start_urls` and `article_ids`; absent: that was all."""


class RunJob(AnyJob):
    """A run of a site; `GET /jobs/scrape/{run_id}` returns its results."""

    run_id: str
    task_id: str
    site_name: str | None
    status: str
    trigger: str
    requested_pages: int
    completed_pages: int
    errors_count: int
    message: str | None = None
    created_at: str
    started_at: str | None = None
    finished_at: str | None = None


class WholeArticlesJob(ArticlesJob, Asked):
    """A job of the articles door, with its articles."""


class WholeCrawlJob(CrawlJob, Asked):
    """A crawl, with what was asked for."""


class WholeRunJob(RunJob, Asked):
    """A run of a site, with what was asked for."""


Job = FetchSummary | ArticlesJob | CrawlJob | RunJob


class ListedJob(BaseModel):
    """Fields that every listed job has, whatever its door, beside its door's own fields."""

    id: str
    name: str | None
    """The job's own name, or the site of a run."""
    total: int
    """Pages of the job so far."""
    completed: int
    failed: int
    created_at: str
    finished_at: str | None
    url: str | None = None
    """The job's first page."""


class ListedFetchJob(ListedJob, FetchSummary):
    url: str


class ListedArticlesJob(ListedJob, ArticlesJob):
    model_config = ConfigDict(json_schema_extra=None)

    name: str | None


class ListedCrawlJob(ListedJob, CrawlJob):
    model_config = ConfigDict(json_schema_extra=None)

    name: str | None
    finished_at: str | None


class ListedRunJob(ListedJob, RunJob):
    finished_at: str | None


class JobList(BaseModel):
    jobs: list[ListedFetchJob | ListedArticlesJob | ListedCrawlJob | ListedRunJob]
    total: int
    total_is_capped: bool
    """True: there are more jobs than `total`; counting stopped there."""
    limit: int
    skip: int
    next_cursor: str | None = None


class Cancelled(BaseModel):
    model_config = ConfigDict(json_schema_extra=examples.shown(examples.CANCELLED))

    job_id: str
    status: str
    message: str


class Changed(BaseModel):
    job_id: str
    status: str
    message: str
    pages: int


def summary(row: StoredJob, eta: int | None = None) -> Job:
    state = JobState(row.state)
    common: dict[str, Any] = {
        "door": row.door, "state": state, "status": word(row.door, state, row.done),
        "created_at": rfc3339(row.created_at), "paused": True if row.paused_at else None,
        "eta": rfc3339(eta) if eta is not None else None,
    }  # fmt: skip
    if row.schedule is not None:
        due = row.due_at if state is JobState.SCHEDULED else row.next_fire_at
        common |= {"schedule_id": row.schedule, "schedule_name": row.schedule_name,
                   "next_run": rfc3339(due) if due else None}  # fmt: skip
    if row.finish_by is not None:
        end = row.finished_at or eta
        common["finish_by"] = rfc3339(row.finish_by)
        common["in_time"] = end <= row.finish_by if end is not None else None
    if row.door == "fetch":
        return FetchSummary(id=row.public_id, url=row.url or "", error=row.error, **common)
    if row.door == "crawl":
        return _crawl(row, common)
    if row.door == "runs":
        return _run(row, common)
    return ArticlesJob(
        job_id=row.public_id, total_articles=row.total, completed=row.done, failed=row.failed,
        cancelled=row.cancelled, pending=row.total - row.done - row.failed - row.cancelled,
        cached_articles=row.cached, updated_at=rfc3339(row.updated_at),
        completed_at=rfc3339(row.finished_at) if row.finished_at else None, name=row.name,
        tags=row.tags, **common,
    )  # fmt: skip


def whole(row: StoredJob, asked: StoredAsked) -> dict[str, Any]:
    """The job with what it was asked for."""
    more: dict[str, Any] = {"article_ids": [page_name(page) for page in asked.pages]}
    if row.door == "crawl":
        more |= {"start_urls": asked.start_urls, "depth": asked.depth}
    if row.door in ("crawl", "runs"):
        more["params"] = asked.params
    if asked.onward is not None:
        more["next_cursor"] = str(asked.onward)
    return summary(row).model_dump(mode="json", exclude_none=True) | more


def listed(row: StoredJob) -> dict[str, Any]:
    """A row of the list: one vocabulary for all doors, then the fields of the job's own door."""
    words = {
        "id": row.public_id, "name": row.name, "total": row.total, "completed": row.done,
        "failed": row.failed, "created_at": rfc3339(row.created_at),
        "finished_at": rfc3339(row.finished_at) if row.finished_at else None,
    }  # fmt: skip
    first = {"url": row.first_url} if row.first_url is not None else {}
    return words | first | summary(row).model_dump(mode="json", exclude_none=True)


def _run(row: StoredJob, common: dict[str, Any]) -> RunJob:
    return RunJob(
        run_id=row.public_id, task_id=task_id(row.public_id), site_name=row.name,
        trigger=row.trigger, requested_pages=row.total, completed_pages=row.done,
        errors_count=row.failed, message=row.message,
        started_at=rfc3339(row.started_at) if row.started_at else None,
        finished_at=rfc3339(row.finished_at) if row.finished_at else None, **common,
    )  # fmt: skip


def _crawl(row: StoredJob, common: dict[str, Any]) -> CrawlJob:
    return CrawlJob(
        job_id=row.public_id, spider=row.scraper, spider_job_id=row.public_id,
        total_pages=row.total, completed=row.done, failed=row.failed, cancelled=row.cancelled,
        pending=row.total - row.done - row.failed - row.cancelled,
        updated_at=rfc3339(row.updated_at), user_id=row.user_id, name=row.name, tags=row.tags,
        started_at=rfc3339(row.started_at) if row.started_at else None,
        finished_at=rfc3339(row.finished_at) if row.finished_at else None, **common,
    )  # fmt: skip
