"""Responses of the articles door."""

from typing import Any

import orjson
from fastapi import Response
from pydantic import BaseModel, ConfigDict

from curtsy.api.schemas.idempotency import REPLAYED
from curtsy.jobs import Submitted
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
    results: list[ScrapedArticle]
    failed_articles: list[FailedArticle]
    next_cursor: str | None = None
    """Send this as `cursor` to get the next page; null: there are no more results."""


def created(submitted: Submitted) -> Response:
    state = JobState.QUEUED if submitted.new else JobState.SUCCEEDED
    body: dict[str, Any] = {
        "job_id": submitted.job, "status": word(DOOR, state, submitted.cached),
        "total_articles": submitted.total, "new_articles": submitted.new,
        "cached_articles": submitted.cached, "message": "Job submitted successfully",
    }  # fmt: skip
    headers = {"Location": f"/jobs/{submitted.job}"}
    if submitted.replayed:
        headers |= REPLAYED
    return Response(orjson.dumps(body), 201, headers, "application/json")
