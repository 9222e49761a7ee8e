"""Responses of the articles door."""

from typing import Any

import orjson
from fastapi import Response
from pydantic import BaseModel, ConfigDict

from curtsy.api.schemas.idempotency import REPLAYED
from curtsy.jobs import JobRequest, Submitted
from curtsy.model.job_states import JobState
from curtsy.model.status_words import word
from curtsy.requests import examples
from curtsy.requests.articles import DOOR


class ArticlesCreated(BaseModel):
    model_config = ConfigDict(json_schema_extra=examples.shown(examples.ARTICLES_CREATED))

    job_id: str
    status: str
    total_articles: int
    new_articles: int
    cached_articles: int
    skipped_articles: int | None = None
    """With `new_only`: articles that the store has, and that the job leaves out."""
    message: str


class ScrapedArticle(BaseModel):
    """A scraped page. The scraper may add fields: byline, authors, date, published_at, modified_at,
    language, language_source, section, tags, image, canonical_url, paywall, markdown, site,
    description."""

    model_config = ConfigDict(extra="allow")

    article_id: str
    url: str
    source: str | None
    category: str | None
    title: str | None
    content: str | None
    scraped_at: str
    cached: bool


class FoundRecord(BaseModel):
    """One of the records that the scraper of a page found on it."""

    article_id: str
    """Of the page."""
    url: str
    found_at: str | None = None
    """The URL of the page after redirects, where it is another one."""
    source: str | None
    category: str | None
    scraped_at: str
    cached: bool
    scraper: str
    record_key: str | None
    """Identifies the record in later results of the same scraper."""
    record: dict[str, Any] | None
    """The fields, in the order that the scraper declares; null: they cannot be shown."""


class FailedArticle(BaseModel):
    article_id: str
    url: str
    source: str | None
    category: str | None
    error: str
    kind: str
    attempted_at: str


class ArticleResults(BaseModel):
    model_config = ConfigDict(json_schema_extra=examples.shown(examples.ARTICLES_RESULTS))

    job_id: str
    status: str
    state: JobState
    door: str
    total_articles: int
    successful: int
    failed: int
    results: list[FoundRecord | ScrapedArticle]
    """A row for each page; where the scraper finds records, a row for each record."""
    failed_articles: list[FailedArticle]
    pages_without_records: int = 0
    """Pages of this part that were scraped and had no record, so that they have no row."""
    next_cursor: str | None = None
    """Send this as `cursor` to get the next page; null: there are no more results."""
    last_event: int | None = None
    """With `after_event`: send this as the next `after_event`."""


def created(submitted: Submitted, request: JobRequest) -> Response:
    state = JobState.QUEUED if submitted.new else JobState.SUCCEEDED
    body: dict[str, Any] = {
        "job_id": submitted.job, "status": word(DOOR, state, submitted.cached),
        "total_articles": submitted.total, "new_articles": submitted.new,
        "cached_articles": submitted.cached, "message": "Job submitted successfully",
    }  # fmt: skip
    if request.new_only:
        body["skipped_articles"] = len(request.pages) - submitted.total
    headers = {"Location": f"/jobs/{submitted.job}"}
    if submitted.replayed:
        headers |= REPLAYED
    return Response(orjson.dumps(body), 201, headers, "application/json")
