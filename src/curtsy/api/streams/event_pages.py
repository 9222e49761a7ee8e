"""Pages of events, for clients that poll instead of keeping a stream open."""

from collections.abc import Iterator
from typing import Any

import orjson
from fastapi import Request, Response
from pydantic import BaseModel

from curtsy.alerts.stored_changes import changes_after
from curtsy.api.backend import Backend
from curtsy.api.streams.alert_events import Places, alert_messages, end_of_both
from curtsy.api.streams.messages import update_of_all
from curtsy.events import LogLine, StoredEvent, log_lines, read_job_after
from curtsy.events.stored_events import read_all_after
from curtsy.jobs.job import Job
from curtsy.model.job_states import OPEN_STATES
from curtsy.model.roles import Caller

EVENTS_PER_PAGE = 500
JSON = "application/json"
ALL_LINES = 10**9
"""In place of a line number: the client has all lines of the event."""


class LogPage(BaseModel):
    """The response with `Accept: application/json`."""

    lines: list[dict[str, str]]
    """Each with `ts`, `level` and `msg`."""
    last: str
    """Send this as `Last-Event-ID` of the next request."""
    ended: bool
    """Whether the job has ended and this page completes its log."""


class EventPage(BaseModel):
    """The response with `Accept: application/json`."""

    events: list[dict[str, Any]]
    alerts: list[dict[str, Any]] = []
    """Changes of alerts, for who sees all jobs."""
    last: str
    """Send this as `Last-Event-ID` of the next request."""


def wants_page(request: Request) -> bool:
    return request.headers.get("accept", "").startswith(JSON)


def event_before(after: int, line: int) -> int:
    """Returns the last event that a client at this position has read completely."""
    return after if line == ALL_LINES else after - 1


def lines_after(event: StoredEvent, after: int, line: int) -> Iterator[tuple[int, LogLine]]:
    """Yields the event's log lines after that position, with their numbers."""
    for number, entry in enumerate(log_lines(event), 1):
        if (event.n, number) > (after, line):
            yield number, entry


async def log_page(backend: Backend, row: Job, after: int, line: int) -> Response:
    first = event_before(after, line)
    events = await backend.read(lambda c: read_job_after(c, row.id, first, most=EVENTS_PER_PAGE))
    last = events[-1].n if events else after
    body = {
        "lines": [
            entry._asdict() for event in events for _n, entry in lines_after(event, after, line)
        ],
        "last": str(last),
        "ended": row.state not in OPEN_STATES and last >= row.last_event,
    }
    return Response(orjson.dumps(body), media_type=JSON)


async def event_page(backend: Backend, known: Places | None, caller: Caller) -> Response:
    only = caller.confined_to
    if known is None:
        end = await backend.read(lambda c: end_of_both(c, sees_alerts=only is None))
        return _event_page([], [], end)
    place, seen = known
    events, changes = await backend.read(
        lambda c: (read_all_after(c, place, most=EVENTS_PER_PAGE),
                   changes_after(c, seen, most=EVENTS_PER_PAGE) if only is None else [])
    )  # fmt: skip
    updates = [orjson.Fragment(update_of_all(e)) for e in events if only in (None, e.user_id)]
    last = Places(events[-1].place if events else place, changes[-1].seq if changes else seen)
    return _event_page(updates, alert_messages(changes), last)


def _event_page(events: list[Any], alerts: list[Any], last: Places) -> Response:
    body = {"events": events, "alerts": alerts, "last": str(last)}
    return Response(orjson.dumps(body), media_type=JSON)
