"""Live streams of events: WebSockets and server-sent events, each from where its reader was."""

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
from curtsy.api.routes.jobs import JobId, require_name
from curtsy.api.streams.event_pages import (
    JSON,
    WHOLE,
    EventPage,
    LogPage,
    event_before,
    event_page,
    lines_behind,
    log_page,
    wants_page,
)
from curtsy.api.streams.messages import is_update, state_now, state_of_all, update, update_of_all
from curtsy.api.streams.sse import MEDIA_TYPE, EventStream, sse, sse_place
from curtsy.api.streams.websockets import BAD_PLACE, UNKNOWN_JOB, refuse, speak
from curtsy.errors import BadRequest, NotFound
from curtsy.events import BadPlace, Followed, JobGone, Place, StoredEvent, end_of_all
from curtsy.jobs.job import Job
from curtsy.jobs.listing import open_jobs
from curtsy.model.jobs import OPEN_STATES, JobState
from curtsy.model.roles import Caller
from curtsy.model.status_words import word

router = APIRouter(generate_unique_id_function=attrgetter("name"))

_LINE_ID = re.compile(r"([0-9]{1,15})(?:\.([0-9]{1,6}|end))?")
END = "end"
PURGED = "PURGED"
"""The last word of a log whose job is no more: it is that of `DELETE /jobs/{id}?purge=true`."""
LastEventId = Annotated[str | None, Header(max_length=100)]


def _streams(page: type[BaseModel]) -> dict[int | str, dict[str, Any]]:
    """A stream, or with `Accept: application/json` a page of it."""
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
    facts = _own(backend.feed.of_all(after=place or end, end=end), caller)
    await socket.accept()
    await speak(socket, _after(state, _updates(facts, update_of_all)))


@router.websocket("/ws/jobs/{job_id}")
async def job_updates(
    socket: WebSocket, job_id: str, backend: TheBackend, after: str | None = None
) -> None:
    if after is not None and not re.fullmatch("[0-9]{1,15}", after):
        await refuse(socket, BAD_PLACE, "after is not the seq of an event.")
        return
    try:
        require_name(job_id)
        await require_own_job(socket, backend, job_id)
        row = await backend.job(job_id)
    except NotFound as error:
        await refuse(socket, UNKNOWN_JOB, str(error))
        return
    n = int(after) if after is not None else row.last_event
    facts = backend.feed.of_job(_followed(row), after=n)
    await socket.accept()
    await speak(socket, _after(state_now(row, seq=n), _updates(facts, update)))


@router.get("/events", responses=_streams(EventPage) | problems(), status_code=200,
            response_class=EventStream)  # fmt: skip
async def follow_events(
    request: Request, backend: TheBackend, caller: TheCaller, last_event_id: LastEventId = None
) -> Response:
    """What happens to all jobs from now on, or since the event named by `Last-Event-ID`."""
    try:
        place = Place.parse(last_event_id) if last_event_id else None
    except BadPlace as error:
        raise BadRequest([f"Last-Event-ID: {error}"]) from None
    if wants_page(request):
        return await event_page(backend, place, caller)
    end = await backend.read(end_of_all)
    facts = backend.feed.of_all(after=place or end, end=end)
    return EventStream(_after(sse_place(str(place or end)), _as_sse(_own(facts, caller))))


@router.get("/jobs/{job_id}/logs", responses=_streams(LogPage) | problems(404) | {
    204: {"description": "The log was read to its end."}
}, status_code=200, response_class=EventStream)  # fmt: skip
async def follow_job_log(
    request: Request, job: JobId, backend: TheBackend, last_event_id: LastEventId = None
) -> Response:
    """The job's log, live: `log` events `{ts, level, msg}`, then one `end`."""
    after, line, ended = _line_after(last_event_id)
    row = await backend.job(job)
    if wants_page(request):
        return await log_page(backend, row, after, line)
    if ended and row.state not in OPEN_STATES and after >= row.last_event:
        return Response(status_code=204)  # so that a browser does not ask for ever
    return EventStream(_log(backend, row, after, line))


async def _own(facts: AsyncGenerator[StoredEvent], caller: Caller) -> AsyncGenerator[StoredEvent]:
    """Those that the caller may know of."""
    only = caller.confined_to
    async with aclosing(facts):
        async for fact in facts:
            if only is None or fact.user_id == only:
                yield fact


async def _updates(
    facts: AsyncGenerator[StoredEvent], render: Callable[[StoredEvent], bytes]
) -> AsyncGenerator[bytes]:
    async with aclosing(facts):
        async for fact in facts:
            if is_update(fact):
                yield render(fact)


async def _after(first: bytes, messages: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
    async with aclosing(messages):
        yield first
        async for message in messages:
            yield message


def _followed(row: Job) -> Followed:
    return Followed(row.id, row.public_id, row.last_event)


async def _as_sse(facts: AsyncGenerator[StoredEvent]) -> AsyncGenerator[bytes]:
    async with aclosing(facts):
        async for fact in facts:
            yield sse(update_of_all(fact), id=str(fact.place))


async def _log(backend: Backend, row: Job, after: int, line: int) -> AsyncGenerator[bytes]:
    """From behind that line of that event on, until the job has ended or is no more."""
    try:
        async with aclosing(_lines(backend, row, after, line)) as pieces:
            async for piece in pieces:
                yield piece
    except JobGone:
        yield _end(row.public_id, row.last_event, PURGED)


async def _lines(backend: Backend, row: Job, after: int, line: int) -> AsyncGenerator[bytes]:
    if after >= row.last_event and row.state not in OPEN_STATES:
        yield _end(row.public_id, row.last_event, word(row.door, JobState(row.state), row.done))
        return
    first = event_before(after, line)
    async with aclosing(backend.feed.of_job(_followed(row), after=first)) as facts:
        async for fact in facts:
            for number, entry in lines_behind(fact, after, line):
                yield sse(orjson.dumps(entry._asdict()), id=f"{fact.n}.{number}", event="log")
            if fact.name == "job_finished" and await _is_last(backend, fact):
                state, done, *_rest = fact.job_progress
                yield _end(fact.job, fact.n, word(fact.door, JobState(state), done))
                return


async def _is_last(backend: Backend, fact: StoredEvent) -> bool:
    """A job whose failures are tried again goes on behind its end; one that is purged does not."""
    try:
        row = await backend.job(fact.job)
    except NotFound:
        return True
    return bool(row.last_event == fact.n)


def _end(job: str, n: int, status: str) -> bytes:
    data = orjson.dumps({"status": status, "spider_job_id": job})
    return sse(data, id=f"{n}.{END}", event="end")


def _line_after(last_event_id: str | None) -> tuple[int, int, bool]:
    """The event and its line that were read last, and whether that was the end of all."""
    if not last_event_id:
        return 0, WHOLE, False
    found = _LINE_ID.fullmatch(last_event_id)
    if found is None:
        raise BadRequest(["Last-Event-ID is not the id of an event of this log."])
    n, line = int(found[1]), found[2]
    return n, int(line) if line and line != END else WHOLE, line == END
