"""The articles door: a batch of URLs in, titles and texts out."""

from fastapi import APIRouter, Response

from curtsy.api.access import TheCaller
from curtsy.api.article_shapes import ArticlesCreated, ArticlesRequest, created, job_request
from curtsy.api.desk import TheDesk
from curtsy.api.idempotency import Key
from curtsy.api.json_route import JsonRoute
from curtsy.api.problems import problems

router = APIRouter(route_class=JsonRoute)


@router.post("/jobs/submit", status_code=201, response_model=ArticlesCreated,
             responses=problems(413, 429, 507))  # fmt: skip
async def submit(
    asked: ArticlesRequest, desk: TheDesk, caller: TheCaller, idempotency_key: Key = None
) -> Response:
    """Take a batch of articles in. What is in the store and fresh enough is not fetched again."""
    request = job_request(asked, idempotency_key, desk.page_max_age, caller)
    return created(await desk.submit(request))
