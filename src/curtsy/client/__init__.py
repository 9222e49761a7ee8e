"""Talking to a curtsy API, wherever it runs."""

from curtsy.client.address import way_to
from curtsy.client.async_client import AsyncClient
from curtsy.client.event_stream import pages
from curtsy.client.http import ApiConnection, Declined, Unanswered
from curtsy.client.job import AsyncJob, Status
from curtsy.client.retries import NotInTime, Patience
from curtsy.client.sync_client import Client, Job

__all__ = [
    "ApiConnection",
    "AsyncClient",
    "AsyncJob",
    "Client",
    "Declined",
    "Job",
    "NotInTime",
    "Patience",
    "Status",
    "Unanswered",
    "pages",
    "way_to",
]
