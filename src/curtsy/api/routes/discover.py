"""Discovery: submits a job that reads which feeds and sitemaps a site offers."""

from operator import attrgetter

from fastapi import APIRouter, Response

from curtsy.api.auth.middleware import TheCaller
from curtsy.api.backend import TheBackend
from curtsy.api.middleware.json_route import JsonRoute
from curtsy.api.problems import problems
from curtsy.api.schemas.crawl import CrawlCreated, created
from curtsy.requests.discover import DiscoverRequest, job_request

router = APIRouter(route_class=JsonRoute, generate_unique_id_function=attrgetter("name"))


@router.post("/discover", response_model=CrawlCreated, responses=problems(413, 429, 507))
async def submit_discovery(
    body: DiscoverRequest, backend: TheBackend, caller: TheCaller
) -> Response:
    """Read which feeds and sitemaps a site offers: those that the page links to, those of its
    robots.txt, and `/sitemap.xml`. A crawl of its own reads them by the rules of every source, and
    fetches nothing else. Each result has, as JSON in `content`, `kind`, `title`, `language`, the
    number of `entries`, `newest_at`, `oldest_at`, and in `more` the feeds and sitemaps that it
    names."""
    return created(await backend.submit(job_request(body, caller)))
