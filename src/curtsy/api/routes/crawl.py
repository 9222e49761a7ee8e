"""The crawl door: a spider, start URLs and a depth in; pages and a log out."""

from operator import attrgetter
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from curtsy.api.auth.middleware import TheCaller
from curtsy.api.backend import TheBackend
from curtsy.api.middleware.json_route import JsonRoute
from curtsy.api.problems import problems
from curtsy.api.routes.not_built import not_built
from curtsy.api.schemas.crawl import CrawlCreated, CrawlScheduled, created, scheduled
from curtsy.api.schemas.idempotency import REPLAYED, Key
from curtsy.api.schemas.plan import PlannedJob, planned
from curtsy.errors import BadRequest
from curtsy.requests.crawl import CrawlRequest, job_request, schedule_spec

router = APIRouter(route_class=JsonRoute, generate_unique_id_function=attrgetter("name"))

LATER = {"seo": "the seo spider"}
"""Built-in spiders that are not built yet, and the part that brings each."""


LATER_ON: dict[int | str, dict[str, Any]] = {202: {"model": CrawlScheduled}}


@router.post("/crawl", response_model=CrawlCreated | PlannedJob,
             responses=LATER_ON | problems(409, 413, 429, 501, 507))  # fmt: skip
async def submit_crawl(
    asked: CrawlRequest,
    backend: TheBackend,
    caller: TheCaller,
    ignore_cache: Annotated[bool, Query()] = False,
    idempotency_key: Key = None,
) -> Response:
    """Start a crawl, or with `schedule_at` or `interval` let it start then. The same asked for
    again within `CRAWL_CACHE_TTL` is the same job, which gets the tags, and the `webhook_url` if
    it has none; 409 if it has another."""
    if asked.spider in LATER:
        return not_built(f"The spider {asked.spider!r}", LATER[asked.spider])
    if "/" in asked.spider:
        return not_built("A spider of a Scrapyd project", "Scrapyd")
    if len(asked.start_urls) > asked.params.max_pages:
        raise BadRequest(["There are more start_urls than max_pages."])
    request = job_request(
        asked, key=idempotency_key, caller=caller, cache_ttl=backend.settings.crawl_cache_ttl,
        fresh=asked.ignore_cache or ignore_cache, now=backend.clock.now(),
    )  # fmt: skip
    if asked.dry_run:
        return planned(await backend.plan(request), request.finish_by)
    if asked.schedule_at is not None or asked.interval is not None:
        plan = schedule_spec(asked, caller, fresh=asked.ignore_cache or ignore_cache,
                             now=backend.clock.now())  # fmt: skip
        return scheduled(await backend.schedules.make(request, plan))
    if asked.timezone is not None:
        raise BadRequest(["timezone belongs to interval and schedule_at."])
    submitted = await backend.submit(request)
    headers = REPLAYED if submitted.replayed else None
    body = created(submitted).model_dump_json()
    return Response(body, 200, headers, "application/json")
