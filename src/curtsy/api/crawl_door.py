"""The crawl door: a spider, start URLs and a depth in; pages and a log out."""

from typing import Annotated

from fastapi import APIRouter, Query, Response

from curtsy.api.access import TheCaller
from curtsy.api.crawl_shapes import CrawlCreated, CrawlRequest, created, job_request
from curtsy.api.desk import TheDesk
from curtsy.api.idempotency import Key
from curtsy.api.json_route import JsonRoute
from curtsy.api.not_yet import not_built
from curtsy.api.problems import problems
from curtsy.errors import BadRequest

router = APIRouter(route_class=JsonRoute)

LATER = {"seo": "the seo spider", "listing": "sites"}
"""Built-in spiders that are not built yet, and the part that brings each."""


@router.post("/crawl", response_model=CrawlCreated, responses=problems(413, 429, 501, 507))
async def crawl(
    asked: CrawlRequest,
    desk: TheDesk,
    caller: TheCaller,
    ignore_cache: Annotated[bool, Query()] = False,
    idempotency_key: Key = None,
) -> Response | CrawlCreated:
    """Start a crawl. The same asked for again within `CRAWL_CACHE_TTL` is the same job."""
    if asked.schedule_at is not None or asked.interval is not None:
        return not_built("A crawl at a later time", "schedules")
    if asked.spider in LATER:
        return not_built(f"The spider {asked.spider!r}", LATER[asked.spider])
    if "/" in asked.spider:
        return not_built("A spider of a Scrapyd project", "Scrapyd")
    if len(asked.start_urls) > asked.params.max_pages:
        raise BadRequest(["There are more start_urls than max_pages."])
    request = job_request(
        asked, key=idempotency_key, caller=caller, cache_ttl=desk.crawl_cache_ttl,
        fresh=asked.ignore_cache or ignore_cache,
    )  # fmt: skip
    return created(await desk.submit(request))
