"""Events a page at a time, for readers that ask now and then instead of listening."""

from collections.abc import Iterator
from typing import Any

import orjson
from fastapi import Request, Response
from pydantic import BaseModel

from curtsy.api.backend import Backend
from curtsy.api.streams.messages import update_of_all
from curtsy.events import LogLine, Place, StoredEvent, end_of_all, log_lines, read_job_after
from curtsy.events.stored_events import read_all_after
from curtsy.jobs.job import Job
from curtsy.model.jobs import OPEN_STATES
from curtsy.model.roles import Caller

AT_ONCE = 500
JSON = "application/json"
WHOLE = 10**9
"""In place of a line's number: the event was read with all its lines."""


class LogPage(BaseModel):
    """With `Accept: application/json`."""

    lines: list[dict[str, str]]
    """Each with `ts`, `level` and `msg`."""
    last: str
    """For the next question, as `Last-Event-ID`."""
    ended: bool
    """The job has ended, and this is the end of its log."""


class EventPage(BaseModel):
    """With `Accept: application/json`."""

    events: list[dict[str, Any]]
    last: str
    """For the next question, as `Last-Event-ID`."""


def wants_page(request: Request) -> bool:
    return request.headers.get("accept", "").startswith(JSON)


def event_before(after: int, line: int) -> int:
    """The last event of which a reader that is behind this line has all."""
    return after if line == WHOLE else after - 1


def lines_behind(fact: StoredEvent, after: int, line: int) -> Iterator[tuple[int, LogLine]]:
    """Of an event, those that a reader behind that line of that event has not had, by number."""
    for number, entry in enumerate(log_lines(fact), 1):
        if (fact.n, number) > (after, line):
            yield number, entry


async def log_page(backend: Backend, row: Job, after: int, line: int) -> Response:
    first = event_before(after, line)
    facts = await backend.read(lambda c: read_job_after(c, row.id, first, most=AT_ONCE))
    last = facts[-1].n if facts else after
    body = {
        "lines": [
            entry._asdict() for fact in facts for _n, entry in lines_behind(fact, after, line)
        ],
        "last": str(last),
        "ended": row.state not in OPEN_STATES and last >= row.last_event,
    }
    return Response(orjson.dumps(body), media_type=JSON)


async def event_page(backend: Backend, place: Place | None, caller: Caller) -> Response:
    if place is None:
        end = await backend.read(end_of_all)
        return Response(orjson.dumps({"events": [], "last": str(end)}), media_type=JSON)
    facts = await backend.read(lambda c: read_all_after(c, place, most=AT_ONCE))
    only = caller.confined_to
    events = [orjson.Fragment(update_of_all(f)) for f in facts if only in (None, f.user_id)]
    last = facts[-1].place if facts else place
    return Response(orjson.dumps({"events": events, "last": str(last)}), media_type=JSON)
