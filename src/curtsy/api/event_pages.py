"""Events a page at a time, for readers that ask now and then instead of listening."""

from typing import Any

import orjson
from fastapi import Request, Response
from pydantic import BaseModel

from curtsy.api.desk import Desk
from curtsy.api.updates import update_of_all
from curtsy.events import Place, end_of_all, log_lines, read_job_after
from curtsy.events.rows import read_all_after
from curtsy.model.jobs import OPEN_STATES
from curtsy.model.roles import Caller

AT_ONCE = 500
JSON = "application/json"


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


async def log_page(desk: Desk, row: Any, after: int) -> Response:
    facts = await desk.read(lambda c: read_job_after(c, row.id, after, most=AT_ONCE))
    last = facts[-1].n if facts else after
    body = {
        "lines": [line._asdict() for fact in facts for line in log_lines(fact)],
        "last": str(last),
        "ended": row.state not in OPEN_STATES and last >= row.last_event,
    }
    return Response(orjson.dumps(body), media_type=JSON)


async def event_page(desk: Desk, place: Place | None, caller: Caller) -> Response:
    if place is None:
        end = await desk.read(end_of_all)
        return Response(orjson.dumps({"events": [], "last": str(end)}), media_type=JSON)
    facts = await desk.read(lambda c: read_all_after(c, place, most=AT_ONCE))
    only = caller.confined_to
    events = [orjson.Fragment(update_of_all(f)) for f in facts if only in (None, f.user_id)]
    last = facts[-1].place if facts else place
    return Response(orjson.dumps({"events": events, "last": str(last)}), media_type=JSON)
