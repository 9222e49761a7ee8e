"""Talking to a curtsy API, wherever it runs."""

from curtsy.client.address import way_to
from curtsy.client.asynchronous import AsyncClient
from curtsy.client.job import AsyncJob, Status
from curtsy.client.pages import pages
from curtsy.client.patience import NotInTime, Patience
from curtsy.client.synchronous import Client, Job
from curtsy.client.talk import Declined, Talk, Unanswered

__all__ = [
    "AsyncClient",
    "AsyncJob",
    "Client",
    "Declined",
    "Job",
    "NotInTime",
    "Patience",
    "Status",
    "Talk",
    "Unanswered",
    "pages",
    "way_to",
]
