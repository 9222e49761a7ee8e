"""Metrics for a monitoring system."""

from operator import attrgetter
from typing import Any

from fastapi import APIRouter, Response

from curtsy.api.backend import TheBackend
from curtsy.api.exposition import MEDIA_TYPE, exposition
from curtsy.api.metrics import families, measure
from curtsy.api.problems import problems

router = APIRouter(generate_unique_id_function=attrgetter("name"))
AS_TEXT: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/plain": {"schema": {"type": "string"}}}}
}


@router.get("/metrics", response_class=Response, responses=AS_TEXT | problems())
async def get_metrics(backend: TheBackend) -> Response:
    """Metrics of the queue, the workers, the schedules and the described sources, in the text
    format of Prometheus. They describe the whole system, whichever process answers."""
    found = await backend.read(lambda c: measure(c, backend.policy, now=backend.clock.now()))
    space = await backend.space()
    return Response(exposition(families(found, space)), media_type=MEDIA_TYPE)
