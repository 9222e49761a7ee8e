"""The articles door: submits a batch of URLs, whose titles and texts are the results."""

from operator import attrgetter

from fastapi import APIRouter, Response

from curtsy.api.auth.middleware import TheCaller
from curtsy.api.backend import TheBackend
from curtsy.api.middleware.json_route import JsonRoute
from curtsy.api.problems import problems
from curtsy.api.schemas.articles import ArticlesCreated, created
from curtsy.api.schemas.idempotency import Key
from curtsy.api.schemas.plan import IF_DRY, planned
from curtsy.offload import offload_many
from curtsy.requests.articles import ArticlesRequest, door_request

router = APIRouter(route_class=JsonRoute, generate_unique_id_function=attrgetter("name"))


@router.post("/jobs/submit", status_code=201, response_model=ArticlesCreated,
             responses=IF_DRY | problems(413, 429, 507))  # fmt: skip
async def submit_articles(
    body: ArticlesRequest, backend: TheBackend, caller: TheCaller, idempotency_key: Key = None
) -> Response:
    """Submit a batch of articles. Articles with a stored copy that is fresh enough are not fetched
    again."""
    request = await offload_many(
        len(body.articles), door_request, body, key=idempotency_key, caller=caller,
        page_max_age=backend.settings.page_max_age, now=backend.clock.now(),
    )  # fmt: skip
    if body.dry_run:
        return planned(await backend.plan(request), request.finish_by)
    return created(await backend.submit(request), request)
