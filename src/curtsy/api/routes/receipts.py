"""Courtesy receipts: the requests to a source, as JSON for programs or HTML for its owner."""

from operator import attrgetter
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from curtsy.api.backend import Backend, TheBackend
from curtsy.api.middleware.security_headers import STRICT_POLICY, hash_of
from curtsy.api.problems import problems
from curtsy.api.receipt_html import STYLE, page
from curtsy.api.schemas.receipts import MOST_DAYS, CourtesyReceipt, receipt_of
from curtsy.clock import DAY
from curtsy.frontier.receipts import receipts_since
from curtsy.sources.source import source

router = APIRouter(generate_unique_id_function=attrgetter("name"))

HTML = "text/html"
AS_PAGE: dict[int | str, dict[str, Any]] = {
    200: {"content": {HTML: {"schema": {"type": "string"}}}}
}


@router.get("/sources/{source_name}/receipt", response_model=CourtesyReceipt,
            responses=AS_PAGE | problems(404))  # fmt: skip
async def get_source_receipt(
    request: Request,
    source_name: str,
    backend: TheBackend,
    days: Annotated[int, Query(ge=1, le=MOST_DAYS)] = 7,
) -> Response:
    """The requests to a source in the last days, including today; with `Accept: text/html` as a
    page to send to the site's owner."""
    receipt = await _receipt(backend, source_name, days)
    if HTML in request.headers.get("accept", ""):
        headers = {"Content-Security-Policy": f"{STRICT_POLICY}; style-src {hash_of(STYLE)}"}
        return Response(page(receipt), headers=headers, media_type=HTML)
    return Response(receipt.model_dump_json(), media_type="application/json")


async def _receipt(backend: Backend, name: str, days: int) -> CourtesyReceipt:
    now = backend.clock.now()
    found = await backend.read(lambda c: source(c, name, backend.policy, now=now))
    today, source_id = now // DAY, found.row.id
    receipts = await backend.read(
        lambda c: receipts_since(c, source_id, first=today - days + 1, last=today)
    )
    return receipt_of(found, receipts, user_agent=backend.settings.user_agent, now=now)
