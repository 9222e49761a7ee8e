"""Pages and the attempts at them."""

from typing import Literal

from pydantic import BaseModel

from curtsy.clock import rfc3339, rfc3339_or_none
from curtsy.jobs.pages import Attempt as StoredAttempt
from curtsy.jobs.pages import PageHistory
from curtsy.model.failure_kinds import Kind
from curtsy.model.job_states import page_name

PageStatus = Literal["PENDING", "SCRAPING", "SCRAPED", "FAILED", "CANCELLED"]
PageState = Literal["pending", "retry", "started", "success", "dead_letter", "cancelled"]

STATUS: dict[PageState, PageStatus] = {
    "pending": "PENDING",
    "retry": "PENDING",
    "started": "SCRAPING",
    "success": "SCRAPED",
    "dead_letter": "FAILED",
    "cancelled": "CANCELLED",
}


class Attempt(BaseModel):
    """One attempt to fetch a page. `turn` counts all attempts at the page, `attempt` those of one
    visit."""

    turn: int
    attempt: int
    url: str | None
    outcome: str
    """fetched, not_modified, moved, again, failed"""
    kind: Kind | None = None
    status: int | None = None
    bytes: int | None = None
    """Bytes as transferred."""
    memory: int | None = None
    """Peak memory of the process that parsed the page, in bytes."""
    error: str | None = None
    traceback: str | None = None
    worker: str | None = None
    """Worker and traceback are hidden from callers who see only their own jobs."""
    started_at: str
    ended_at: str


class Page(BaseModel):
    id: str
    url: str
    host: str
    source: str
    scraper: str
    status: PageStatus
    state: PageState
    error_message: str | None = None
    error_kind: Kind | None = None
    retry_count: int
    """How often the last visit requested the page again after a failure; while the page waits for
    a retry, with that one."""
    reference_count: int | None = None
    """How many items of jobs requested the page; hidden like `worker`."""
    etag: str | None = None
    last_modified: str | None = None
    document_version: int
    """The version of the newest content; 0: there is none."""
    created_at: str
    checked_at: str | None = None
    fetched_at: str | None = None
    due_at: str | None = None
    """The time of the next attempt, if one is set."""
    current_url: str | None = None
    """The target of a redirect that is being followed."""
    history: list[Attempt]
    """Newest first, at most 200. Callers who see only their own jobs get the attempts since their
    first request for the page."""


def page_of(found: PageHistory) -> Page:
    page, state = found.page, _state(found)
    return Page(
        id=page_name(page.id), url=page.url, host=page.host, source=page.source,
        scraper=page.scraper, status=STATUS[state], state=state, error_message=page.error,
        error_kind=page.kind, retry_count=page.retry_count, reference_count=page.reference_count,
        etag=page.etag, last_modified=page.last_modified, document_version=page.document_version,
        created_at=rfc3339(page.created_at), checked_at=rfc3339_or_none(page.checked_at),
        fetched_at=rfc3339_or_none(page.fetched_at), due_at=rfc3339_or_none(page.due_at),
        current_url=page.current_url, history=[attempt_of(a) for a in found.attempts],
    )  # fmt: skip


def own_page_of(found: PageHistory, since: int) -> Page:
    """The page for a caller who first requested it at `since`: without data about other users."""
    visible = [attempt for attempt in found.attempts if attempt.ended_at >= since]
    page = page_of(found._replace(attempts=visible))
    history = [attempt.model_copy(update={"worker": None, "traceback": None})
            for attempt in page.history]  # fmt: skip
    return page.model_copy(update={"reference_count": None, "history": history})


def attempt_of(row: StoredAttempt) -> Attempt:
    return Attempt(
        turn=row.turn, attempt=row.attempt, url=row.url, outcome=row.outcome, kind=row.kind,
        status=row.status, bytes=row.bytes, memory=row.memory, error=row.error,
        traceback=row.traceback, worker=row.worker, started_at=rfc3339(row.started_at),
        ended_at=rfc3339(row.ended_at),
    )  # fmt: skip


def _state(found: PageHistory) -> PageState:
    page = found.page
    if page.waits:
        if found.in_flight:
            return "started"
        return "retry" if page.due_at is not None and page.retry_count else "pending"
    if page.outcome is None:
        return "cancelled"  # cancelled before any attempt ended
    return "dead_letter" if page.outcome == "failed" else "success"
