"""The crawl door: submits a crawl from start URLs with a spider, now or on a schedule."""

from operator import attrgetter
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from curtsy.api.auth.middleware import TheCaller
from curtsy.api.auth.open_streams import open_stream
from curtsy.api.backend import TheBackend
from curtsy.api.middleware.json_route import JsonRoute
from curtsy.api.problems import problems
from curtsy.api.routes.not_built import not_built
from curtsy.api.routes.streams import job_stream
from curtsy.api.schemas.crawl import CrawlCreated, CrawlScheduled, created, scheduled
from curtsy.api.schemas.idempotency import Key
from curtsy.api.schemas.plan import PlannedJob, planned
from curtsy.api.streams.sse import wants_stream
from curtsy.errors import BadRequest
from curtsy.extract.pattern_check import check_patterns
from curtsy.offload import offload_many
from curtsy.requests.crawl import CrawlRequest, job_request, schedule_spec

router = APIRouter(route_class=JsonRoute, generate_unique_id_function=attrgetter("name"))

LATER = {"seo": "the seo spider"}
"""Spiders that are not built yet, with the part that will provide each."""
IF_SCHEDULED: dict[int | str, dict[str, Any]] = {202: {"model": CrawlScheduled}}


@router.post("/crawl", response_model=CrawlCreated | PlannedJob,
             responses=IF_SCHEDULED | problems(409, 413, 429, 501, 507))  # fmt: skip
async def submit_crawl(
    body: CrawlRequest,
    backend: TheBackend,
    caller: TheCaller,
    http: Request,
    ignore_cache: Annotated[bool, Query()] = False,
    idempotency_key: Key = None,
) -> Response:
    """Start a crawl now, or schedule it with `schedule_at` or `interval`. An equal request within
    `CRAWL_CACHE_TTL` returns the same job and adds its tags to it, and its `webhook_url` if the job
    has none; 409 if the job has another one. With `Accept: text/event-stream`, a crawl that starts
    now is answered with its log, live, after one `job` event that has the usual answer."""
    if (refusal := _checked(body)) is not None:
        return refusal
    await check_patterns(body.params.scraper_params())
    fresh, now = body.ignore_cache or ignore_cache, backend.clock.now()
    pages = len(body.starts)
    request = await offload_many(
        pages, job_request, body, key=idempotency_key, caller=caller, fresh=fresh, now=now,
        cache_ttl=backend.settings.crawl_cache_ttl,
    )  # fmt: skip
    if body.dry_run:
        return planned(await backend.plan(request), request.finish_by)
    if body.is_scheduled:
        spec = await offload_many(pages, schedule_spec, body, caller, fresh=fresh, now=now)
        return scheduled(await backend.schedules.create(request, spec))
    if wants_stream(http):
        open_stream(http.scope)  # too many streams refuse the request, not its answer
    submitted = await backend.submit(request)
    if wants_stream(http):
        return await job_stream(backend, submitted.job, first=created(submitted))
    return created(submitted)


def _checked(body: CrawlRequest) -> Response | None:
    """Returns a 501 for spiders that are not built yet; raises `BadRequest` for fields that
    contradict each other."""
    if body.spider in LATER:
        return not_built(f"The spider {body.spider!r}", LATER[body.spider])
    if "/" in body.spider:
        return not_built("A spider of a Scrapyd project", "Scrapyd")
    if len(body.starts) > body.params.max_pages:
        raise BadRequest(["There are more start_urls than max_pages."])
    if body.timezone is not None and not (body.dry_run or body.is_scheduled):
        raise BadRequest(["timezone belongs to interval and schedule_at."])
    return None
