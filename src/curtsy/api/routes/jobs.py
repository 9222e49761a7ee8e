"""Jobs of all doors: lists and reads them, and cancels, retries, pauses and resumes them."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from operator import attrgetter
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Depends, HTTPException, Query, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import AfterValidator
from starlette.requests import HTTPConnection

from curtsy.api.auth.middleware import TheCaller
from curtsy.api.auth.ownership import require_own_job
from curtsy.api.backend import Backend, TheBackend
from curtsy.api.eta_cache import EtaCache
from curtsy.api.middleware.json_route import JsonRoute
from curtsy.api.problems import BadState, problems
from curtsy.api.query_words import as_enum, one_of
from curtsy.api.schemas.articles import ArticleResults
from curtsy.api.schemas.fetch import with_content
from curtsy.api.schemas.jobs import (
    ArticlesJob,
    Cancelled,
    Changed,
    CrawlJob,
    FetchJob,
    FetchSummary,
    Job,
    JobList,
    RunJob,
    WholeArticlesJob,
    WholeCrawlJob,
    WholeRunJob,
    listed,
    summary,
    whole,
)
from curtsy.api.schemas.results import as_document, as_document_since, lines_of
from curtsy.errors import BadRequest, NotFound, WrongState
from curtsy.jobs.asked import read_asked
from curtsy.jobs.job import Job as JobRow
from curtsy.jobs.job import read_job_and_result
from curtsy.jobs.listing import FIRST, TOTAL_CAP, JobFilter, JobPage, Place
from curtsy.jobs.listing import list_jobs as read_list
from curtsy.jobs.page_filters import PAGE_WORDS, find_source
from curtsy.jobs.results import AT_ONCE, Piece, ResultPlace, ended_items
from curtsy.jobs.results_since import ended_since
from curtsy.model.counts import are, counted
from curtsy.model.job_states import JobState
from curtsy.model.status_words import DOORS, EVERY_STATE, FILTERS, StatusFilter, word
from curtsy.schedules.schedule import remove
from curtsy.store import Connection

router = APIRouter(route_class=JsonRoute, generate_unique_id_function=attrgetter("name"))

MAX_SKIP = 100_000
RESERVED = {"submit": "POST", "scrape": "POST", "sites": "GET", "health": "GET", "queue": ""}
"""Second path segments that are not job ids, with the method that is allowed there."""
NDJSON = "application/x-ndjson"
AS_LINES: dict[int | str, dict[str, Any]] = {
    200: {"content": {NDJSON: {"schema": {"type": "string"}}}}
}


async def _job(job_id: str, connection: HTTPConnection, backend: TheBackend) -> str:
    """Raises `NotFound` for text that cannot be an id, and for jobs of other users."""
    if job_id in RESERVED:
        allowed = connection.url.path.endswith(f"/{job_id}") and RESERVED[job_id]
        raise HTTPException(405, headers={"Allow": allowed}) if allowed else HTTPException(404)
    require_job_id(job_id)
    await require_own_job(connection, backend, job_id)
    return job_id


def require_job_id(job_id: str) -> None:
    """Raises `NotFound` for text that cannot be an id."""
    if not re.fullmatch(r"[A-Za-z0-9_.-]{1,100}", job_id):
        raise NotFound("job", job_id[:100])


JobId = Annotated[str, Depends(_job)]
STATUS_WORDS = (*FILTERS, *PAGE_WORDS)
StatusQuery = Annotated[
    str | None,
    AfterValidator(one_of(STATUS_WORDS)),
    Query(
        json_schema_extra=as_enum(STATUS_WORDS),
        description="A `status` of any door, or a `state`; `retry` and `dead_letter` are jobs with "
        "pages that wait for another try, or that were given up.",
    ),
]
Door = Annotated[str | None, AfterValidator(one_of(DOORS)), Query(json_schema_extra=as_enum(DOORS))]
Cursor = Annotated[str | None, Query(pattern=r"^[0-9]{1,18}(-[0-9]{1,18})?$")]


@router.get("/jobs", response_model=JobList, responses=problems(404))
@router.get("/jobs/", include_in_schema=False)
async def list_jobs(
    backend: TheBackend,
    caller: TheCaller,
    status_filter: StatusQuery = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 50,
    skip: Annotated[int, Query(ge=0, le=MAX_SKIP)] = 0,
    cursor: Cursor = None,
    tag: Annotated[str | None, Query(min_length=1, max_length=100)] = None,
    q: Annotated[str | None, Query(min_length=1, max_length=100)] = None,
    door: Door = None,
    source: Annotated[str | None, Query(min_length=1, max_length=300)] = None,
) -> Response:
    """Jobs, newest first. `q` searches for a part of the name; `source` for runs of a site of that
    name, and for jobs with a page of that source among their first 100. With several filters, or
    with `q`, a request searches 10,000 jobs, with `source` 1,000: a page may have few jobs or none,
    and still a `next_cursor`."""
    pages = status_filter if status_filter in PAGE_WORDS else None
    states = _states(None if pages else status_filter, door)
    wanted, after = JobFilter(caller.confined_to, states, tag, q, pages), _place(cursor)

    def read(connection: Connection) -> JobPage:
        of = find_source(connection, source) if source is not None else None
        chosen = replace(wanted, source=of)
        return read_list(connection, chosen, after=after, limit=limit, skip=skip)

    rows, total, onward = await backend.read(read)
    body: dict[str, Any] = {
        "jobs": [listed(row) for row in rows], "total": min(total, TOTAL_CAP),
        "total_is_capped": total > TOTAL_CAP, "limit": limit, "skip": skip,
    }  # fmt: skip
    if onward is not None:
        body["next_cursor"] = f"{onward[0]}-{onward[1]}"
    return Response(orjson.dumps(body), media_type="application/json")


@router.get(
    "/jobs/{job_id}",
    response_model=FetchJob | WholeArticlesJob | WholeCrawlJob | WholeRunJob,
    responses=problems(404),
)
async def get_job(
    job: JobId,
    backend: TheBackend,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    cursor: Annotated[str | None, Query(pattern=r"^[0-9]{1,9}$")] = None,
) -> Response:
    """A job and what it was asked for; for a completed job of the fetch door its content. `limit`
    and `cursor` page through `start_urls` and `article_ids`."""
    row, result = await backend.read(lambda c: read_job_and_result(c, job))
    if result is None:
        after = int(cursor) if cursor is not None else -1
        asked = await backend.read(lambda c: read_asked(c, row, after=after, most=limit))
        return Response(orjson.dumps(whole(row, asked)), media_type="application/json")
    body = await asyncio.to_thread(with_content, summary(row), result)
    return Response(body, media_type="application/json")


@router.get("/jobs/{job_id}/status", response_model=FetchSummary | ArticlesJob | CrawlJob | RunJob,
            responses=problems(404))  # fmt: skip
async def get_job_status(request: Request, job: JobId, backend: TheBackend) -> Response:
    """The progress of a job and its predicted end."""
    row = await backend.job(job)
    etas: EtaCache = request.app.state.etas
    return _json(summary(row, await etas.of(row)))


@router.get("/jobs/{job_id}/results", response_model=ArticleResults,
            responses=AS_LINES | problems(404))  # fmt: skip
async def get_job_results(
    request: Request,
    job: JobId,
    backend: TheBackend,
    limit: Annotated[int, Query(ge=1, le=1000)] = 1000,
    cursor: Annotated[str | None, Query(pattern=r"^[0-9]{1,9}(-[0-9]{1,9})?$")] = None,
    after_event: Annotated[int | None, Query(ge=0, lt=10**15)] = None,
) -> Response:
    """The results so far: pages, or the records that were found on them. The counts are of pages.
    With `Accept: application/x-ndjson` all results, one line each. With `after_event` (at first 0)
    those of pages that ended since, in the order in which they ended: the next request sends the
    answer's `last_event`. Pages from the store have no event; read them without `after_event`."""
    row, place = await backend.job(job), ResultPlace.parse(cursor)
    if after_event is not None:
        return await _results_since(backend, row, after_event, limit)
    if NDJSON in request.headers.get("accept", ""):
        return StreamingResponse(_stream(backend, row.id, place), media_type=NDJSON)
    piece = await backend.read(lambda c: ended_items(c, row.id, place=place, most=limit))
    return await _document(piece, partial(as_document, row, piece, place, limit))


async def _results_since(backend: Backend, row: JobRow, event: int, limit: int) -> Response:
    found = await backend.read(lambda c: ended_since(c, row.id, event=event, most=limit))
    return await _document(found.piece, partial(as_document_since, row, found, limit))


async def _document(piece: Piece, build: Callable[[], bytes]) -> Response:
    body = build() if piece.is_light else await asyncio.to_thread(build)
    return Response(body, media_type="application/json")


@router.delete("/jobs/{job_id}", responses=problems(400, 404, 507))
async def cancel_job(
    job: JobId, backend: TheBackend, purge: bool = False, schedule: bool = False
) -> Cancelled:
    """Cancel a job; 400 if it has ended. With `purge` also delete it and its data. With `schedule`
    delete the schedule that created it, whether or not the job has ended."""
    if schedule:
        return await _unschedule(backend, job)
    if purge:
        return await _purge(backend, job)
    try:
        removed = await backend.cancel(job)
    except WrongState as error:
        raise BadState(error) from None
    message = f"Job cancelled. Removed {counted(removed, 'pending task')}."
    return Cancelled(job_id=job, status=await _status(backend, job), message=message)


@router.post("/jobs/{job_id}/retry", status_code=202, responses=problems(404, 409, 429, 507))
async def retry_job(job: JobId, backend: TheBackend, caller: TheCaller) -> Changed:
    """Retry the failed pages of a job; 409 if none failed."""
    pages = await backend.retry(job, caller)
    message = f"Job retried. {counted(pages, 'failed page')} {are(pages)} queued again."
    return Changed(job_id=job, status=await _status(backend, job), message=message, pages=pages)


@router.post("/jobs/{job_id}/pause", responses=problems(404, 409, 507))
async def pause_job(job: JobId, backend: TheBackend) -> Changed:
    """Start no pages of a job until it is resumed, except pages that other jobs wait for too."""
    pages = await backend.pause(job)
    message = f"Job paused. {counted(pages, 'page')} {are(pages)} on hold."
    return Changed(job_id=job, status=await _status(backend, job), message=message, pages=pages)


@router.post("/jobs/{job_id}/resume", responses=problems(404, 409, 507))
async def resume_job(job: JobId, backend: TheBackend) -> Changed:
    """Resume a paused job."""
    pages = await backend.resume(job)
    message = f"Job resumed. {counted(pages, 'page')} {are(pages)} queued again."
    return Changed(job_id=job, status=await _status(backend, job), message=message, pages=pages)


async def _purge(backend: Backend, job: str) -> Cancelled:
    if await backend.purge(job):
        return Cancelled(job_id=job, status="PURGED", message="Job purged.")
    message = "The job is large and not fully purged yet: send the request again."
    return Cancelled(job_id=job, status="PURGING", message=message)


async def _unschedule(backend: Backend, job: str) -> Cancelled:
    schedule = (await backend.job(job)).schedule
    if schedule is None:
        raise BadState(WrongState(f"Job {job}", "not part of a schedule", "unscheduled"))
    await backend.schedules.change(lambda c: remove(c, schedule, now=backend.clock.now()))
    removed = 0
    with suppress(WrongState):
        removed = await backend.cancel(job)
    message = f"Schedule {schedule} removed. Removed {counted(removed, 'pending task')}."
    return Cancelled(job_id=job, status=await _status(backend, job), message=message)


def _states(status_filter: str | None, door: str | None) -> StatusFilter | None:
    states = FILTERS[status_filter] if status_filter else EVERY_STATE if door else None
    return states.of(door) if states and door else states


def _place(cursor: str | None) -> Place:
    if cursor is None:
        return FIRST
    at, dash, number = cursor.partition("-")
    if not dash:
        raise BadRequest(["cursor is not a cursor of this list."])
    return int(at), int(number)


def _json(job: Job) -> Response:
    return Response(job.model_dump_json(exclude_none=True), media_type="application/json")


async def _status(backend: Backend, job: str) -> str:
    row = await backend.job(job)
    return word(row.door, JobState(row.state), row.done)


async def _stream(backend: Backend, job_id: int, place: ResultPlace) -> AsyncIterator[bytes]:
    """Reads piece by piece, so that memory does not grow with the job."""
    more = True
    while more:
        at = place
        piece = await backend.read(lambda c: ended_items(c, job_id, place=at, most=AT_ONCE))  # noqa: B023
        chunks = lines_of(piece, place)
        while (chunk := await asyncio.to_thread(next, chunks, None)) is not None:
            yield chunk
        if piece.items:
            place = ResultPlace(piece.last)
        more = piece.more
