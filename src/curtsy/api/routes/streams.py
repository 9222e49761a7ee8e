"""Live streams of events over WebSockets and server-sent events; clients can resume a stream."""

import re
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from operator import attrgetter
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Header, Request, Response, WebSocket
from pydantic import BaseModel

from curtsy.api.auth.middleware import TheCaller, caller_of
from curtsy.api.auth.ownership import require_own_job
from curtsy.api.backend import Backend, TheBackend
from curtsy.api.problems import problems
from curtsy.api.routes.jobs import JobId, require_job_id
from curtsy.api.streams.alert_events import Places, end_of_both, sse_with_alerts
from curtsy.api.streams.event_pages import (
    ALL_LINES,
    JSON,
    EventPage,
    LogPage,
    event_before,
    event_page,
    lines_after,
    log_page,
    wants_page,
)
from curtsy.api.streams.messages import is_update, state_now, state_of_all, update, update_of_all
from curtsy.api.streams.sse import MEDIA_TYPE, EventStream, sse, sse_place
from curtsy.api.streams.websockets import BAD_PLACE, UNKNOWN_JOB, refuse, send_messages
from curtsy.errors import BadRequest, NotFound
from curtsy.events import BadPlace, Followed, JobGone, Place, StoredEvent, end_of_all
from curtsy.jobs.job import Job
from curtsy.jobs.listing import open_jobs
from curtsy.model.job_states import OPEN_STATES, JobState
from curtsy.model.roles import Caller
from curtsy.model.status_words import word

router = APIRouter(generate_unique_id_function=attrgetter("name"))

_LINE_ID = re.compile(r"([0-9]{1,15})(?:\.([0-9]{1,6}|end))?")
END = "end"
BODY_HEADERS = ("content-type", "content-length")
PURGED = "PURGED"
"""The final status in the log of a purged job, as in `DELETE /jobs/{id}?purge=true`."""
LastEventId = Annotated[str | None, Header(max_length=100)]


def _streams(page: type[BaseModel]) -> dict[int | str, dict[str, Any]]:
    """The OpenAPI response: a stream, or with `Accept: application/json` a page of it."""
    content = {
        MEDIA_TYPE: {"schema": {"type": "string"}},
        JSON: {"schema": page.model_json_schema()},
    }
    return {200: {"description": "A stream of events, or a page of them.", "content": content}}


@router.websocket("/ws")
async def all_updates(socket: WebSocket, backend: TheBackend, after: str | None = None) -> None:
    try:
        place = Place.parse(after) if after is not None else None
    except BadPlace as error:
        await refuse(socket, BAD_PLACE, str(error))
        return
    caller = caller_of(socket)
    end, number = await backend.read(lambda c: (end_of_all(c), open_jobs(c, caller.confined_to)))
    state = state_of_all(number, place=place or end)
    events = _visible(backend.feed.of_all(after=place or end, end=end), caller)
    await send_messages(socket, _preceded_by(state, _updates(events, update_of_all)))


@router.websocket("/ws/jobs/{job_id}")
async def job_updates(
    socket: WebSocket, job_id: str, backend: TheBackend, after: str | None = None
) -> None:
    if after is not None and not re.fullmatch("[0-9]{1,15}", after):
        await refuse(socket, BAD_PLACE, "after is not the seq of an event.")
        return
    try:
        row = await _own_job(socket, backend, job_id)
    except NotFound as error:
        await refuse(socket, UNKNOWN_JOB, str(error))
        return
    seq = int(after) if after is not None else row.last_event
    updates = _updates(backend.feed.of_job(_followed(row), after=seq), update)
    await send_messages(socket, _preceded_by(state_now(row, seq=seq), updates))


@router.get("/events", responses=_streams(EventPage) | problems(), status_code=200,
            response_class=EventStream)  # fmt: skip
async def follow_events(
    request: Request, backend: TheBackend, caller: TheCaller, last_event_id: LastEventId = None
) -> Response:
    """The events of all jobs, live: from now on, or after the event that `Last-Event-ID` names.
    Who sees all jobs also gets the changes of alerts, as events named `alert`."""
    known = _places(last_event_id)
    if wants_page(request):
        return await event_page(backend, known, caller)
    sees_alerts = caller.confined_to is None
    end = await backend.read(lambda c: end_of_both(c, sees_alerts=sees_alerts))
    begin = known or end
    events = _visible(backend.feed.of_all(after=begin.job_event, end=end.job_event), caller)
    if sees_alerts:
        changes = backend.alert_changes.after(begin.alert_change)
        updates = sse_with_alerts(events, changes, begin)
    else:
        updates = _sse_updates(events)
    return EventStream(_preceded_by(sse_place(str(begin)), updates))


@router.get("/jobs/{job_id}/logs", responses=_streams(LogPage) | problems(404) | {
    204: {"description": "The client has the whole log, and the job has ended."}
}, status_code=200, response_class=EventStream)  # fmt: skip
async def follow_job_log(
    request: Request, job: JobId, backend: TheBackend, last_event_id: LastEventId = None
) -> Response:
    """The log of a job, live: `log` events `{ts, level, msg}`, then one `end` event."""
    after, line, ended = _log_position(last_event_id)
    row = await backend.job(job)
    if wants_page(request):
        return await log_page(backend, row, after, line)
    if ended and row.state not in OPEN_STATES and after >= row.last_event:
        return Response(status_code=204)  # otherwise a browser reconnects forever
    return EventStream(_log_stream(backend, row, after, line))


async def job_stream(backend: Backend, job: str, *, first: Response) -> EventStream:
    """The whole log of a job that was just submitted, after one event with the door's answer."""
    row = await backend.job(job)
    opening = sse(bytes(first.body), id="0", event="job")
    log = _preceded_by(opening, _log_stream(backend, row, 0, ALL_LINES))
    return EventStream(log, {n: v for n, v in first.headers.items() if n not in BODY_HEADERS})


async def _own_job(socket: WebSocket, backend: Backend, job_id: str) -> Any:
    require_job_id(job_id)
    await require_own_job(socket, backend, job_id)
    return await backend.job(job_id)


def _places(last_event_id: str | None) -> Places | None:
    try:
        return Places.parse(last_event_id) if last_event_id else None
    except BadPlace as error:
        raise BadRequest([f"Last-Event-ID: {error}"]) from None


def _log_position(last_event_id: str | None) -> tuple[int, int, bool]:
    """Returns the last event and line that the client has, and whether that was the `end` event."""
    if not last_event_id:
        return 0, ALL_LINES, False
    found = _LINE_ID.fullmatch(last_event_id)
    if found is None:
        raise BadRequest(["Last-Event-ID is not the id of an event of this log."])
    n, line = int(found[1]), found[2]
    return n, int(line) if line and line != END else ALL_LINES, line == END


def _followed(row: Job) -> Followed:
    return Followed(row.id, row.public_id, row.last_event)


async def _visible(
    events: AsyncGenerator[StoredEvent], caller: Caller
) -> AsyncGenerator[StoredEvent]:
    """Yields the events that the caller may see."""
    only = caller.confined_to
    async with aclosing(events):
        async for event in events:
            if only is None or event.user_id == only:
                yield event


async def _updates(
    events: AsyncGenerator[StoredEvent], render: Callable[[StoredEvent], bytes]
) -> AsyncGenerator[bytes]:
    async with aclosing(events):
        async for event in events:
            if is_update(event):
                yield render(event)


async def _preceded_by(first: bytes, messages: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
    async with aclosing(messages):
        yield first
        async for message in messages:
            yield message


async def _sse_updates(events: AsyncGenerator[StoredEvent]) -> AsyncGenerator[bytes]:
    async with aclosing(events):
        async for event in events:
            yield sse(update_of_all(event), id=str(event.place))


async def _log_stream(backend: Backend, row: Job, after: int, line: int) -> AsyncGenerator[bytes]:
    """Yields the log after that line of that event, until the job has ended or is purged."""
    try:
        async with aclosing(_log_events(backend, row, after, line)) as pieces:
            async for piece in pieces:
                yield piece
    except JobGone:
        yield _end_event(row.public_id, row.last_event, PURGED)


async def _log_events(backend: Backend, row: Job, after: int, line: int) -> AsyncGenerator[bytes]:
    if after >= row.last_event and row.state not in OPEN_STATES:
        status = word(row.door, JobState(row.state), row.done)
        yield _end_event(row.public_id, row.last_event, status)
        return
    first = event_before(after, line)
    async with aclosing(backend.feed.of_job(_followed(row), after=first)) as events:
        async for event in events:
            for number, entry in lines_after(event, after, line):
                yield sse(orjson.dumps(entry._asdict()), id=f"{event.n}.{number}", event="log")
            if event.name == "job_finished" and await _is_last(backend, event):
                state, done, *_rest = event.job_progress
                yield _end_event(event.job, event.n, word(event.door, JobState(state), done))
                return


async def _is_last(backend: Backend, event: StoredEvent) -> bool:
    """Whether the log ends with this `job_finished`: a job whose failures were retried continues
    after it, a purged job does not."""
    try:
        row = await backend.job(event.job)
    except NotFound:
        return True
    return bool(row.last_event == event.n)


def _end_event(job: str, n: int, status: str) -> bytes:
    data = orjson.dumps({"status": status, "spider_job_id": job})
    return sse(data, id=f"{n}.{END}", event="end")
