"""The Python client of a curtsy API, on this machine or elsewhere."""

from curtsy.client.address import open_http
from curtsy.client.answer import AnswerNotUnderstood
from curtsy.client.async_client import AsyncClient
from curtsy.client.event_stream import poll_pages
from curtsy.client.http import ApiConnection, Declined, Unanswered
from curtsy.client.job_handle import AsyncJob, Job
from curtsy.client.results import (
    Article,
    PageFailure,
    PageResult,
    RawPage,
    RecordRow,
    Result,
    RunRecord,
)
from curtsy.client.retries import NotInTime, Patience
from curtsy.client.statuses import Status
from curtsy.client.sync_client import Client

__all__ = [
    "AnswerNotUnderstood",
    "ApiConnection",
    "Article",
    "AsyncClient",
    "AsyncJob",
    "Client",
    "Declined",
    "Job",
    "NotInTime",
    "PageFailure",
    "PageResult",
    "Patience",
    "RawPage",
    "RecordRow",
    "Result",
    "RunRecord",
    "Status",
    "Unanswered",
    "open_http",
    "poll_pages",
]
