"""The status of a job, in the fields of its door and in those that all doors share."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from curtsy.client.answer import AnswerNotUnderstood, read
from curtsy.client.answers import (
    ArticlesJob,
    CrawlJob,
    FetchJob,
    FetchSummary,
    ListedArticlesJob,
    ListedCrawlJob,
    ListedFetchJob,
    ListedRunJob,
    RunJob,
    WholeArticlesJob,
    WholeCrawlJob,
    WholeRunJob,
)
from curtsy.model.job_states import OPEN_STATES

StatusBody = FetchSummary | ArticlesJob | CrawlJob | RunJob
"""What a status says, by the door of the job."""
WholeJob = FetchJob | WholeArticlesJob | WholeCrawlJob | WholeRunJob
"""A job and what it was asked for."""
ListedJob = ListedFetchJob | ListedArticlesJob | ListedCrawlJob | ListedRunJob
"""A job of a list: the fields of its door, and those that all doors share."""

_DOORS: dict[str, tuple[type[StatusBody], type[WholeJob], type[ListedJob]]] = {
    "fetch": (FetchSummary, FetchJob, ListedFetchJob),
    "articles": (ArticlesJob, WholeArticlesJob, ListedArticlesJob),
    "crawl": (CrawlJob, WholeCrawlJob, ListedCrawlJob),
    "runs": (RunJob, WholeRunJob, ListedRunJob),
}


@dataclass(frozen=True, slots=True)
class Status:
    """A job's status. `body` is the API's response, in the fields of the job's door."""

    state: str
    body: StatusBody

    def __str__(self) -> str:
        return self.body.status

    @property
    def is_over(self) -> bool:
        return self.state not in OPEN_STATES

    @property
    def is_run(self) -> bool:
        """True for a run of a site, whose results are records."""
        return self.body.door == "runs"

    @property
    def completed(self) -> int:
        return self._count("completed", "completed_pages", otherwise=self.state == "succeeded")

    @property
    def failed(self) -> int:
        return self._count("failed", "errors_count", otherwise=self.state == "failed")

    @property
    def cancelled(self) -> int:
        return self._count("cancelled", otherwise=self.state == "cancelled")

    @property
    def total(self) -> int:
        """Pages of the job so far; a crawl finds more as it goes."""
        return self._count("total_articles", "total_pages", "requested_pages", otherwise=1)

    def _count(self, *names: str, otherwise: int) -> int:
        """Reads the count under the door's own field name; the fetch door has none."""
        return int(next((self.body[name] for name in names if name in self.body), otherwise))


Progress = Callable[[Status], None]


def status_of(body: Any) -> Status:
    kind, _, _ = _door(body)
    return Status(body["state"], read(kind, body))


def whole_job(body: Any) -> WholeJob:
    _, kind, _ = _door(body)
    return read(kind, body)


def listed_job(body: Any) -> ListedJob:
    _, _, kind = _door(body)
    return read(kind, body)


def _door(body: Any) -> tuple[type[StatusBody], type[WholeJob], type[ListedJob]]:
    door = body.get("door") if isinstance(body, dict) else None
    if door not in _DOORS:
        raise AnswerNotUnderstood("Job", "door", f"is {door!r:.80}")
    return _DOORS[door]
