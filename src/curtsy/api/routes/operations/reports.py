"""Reports on past hours: makes one, lists them, returns one as JSON or as an HTML page."""

from operator import attrgetter
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from curtsy.api.backend import TheBackend
from curtsy.api.middleware.security_headers import STRICT_POLICY
from curtsy.api.openapi import REFERENCE
from curtsy.api.problems import problems
from curtsy.api.schemas.reports import Format, ReportList, row_of
from curtsy.offload import offload
from curtsy.reports.html.page import page
from curtsy.reports.html.style import STYLE_SOURCE
from curtsy.reports.report import Report, to_json
from curtsy.reports.reporter import MOST_HOURS
from curtsy.reports.stored_reports import LATEST, find_report, stored_reports

router = APIRouter(prefix="/reports", generate_unique_id_function=attrgetter("name"))

HTML, JSON = "text/html", "application/json"
AS_JSON = {"schema": {"$ref": REFERENCE.format(model=Report.__name__)}}
"""FastAPI would build a validator of reports for each route, whenever a process starts."""
REPORT: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The report",
        "content": {JSON: AS_JSON, HTML: {"schema": {"type": "string"}}},
    }
}
CREATED: dict[int | str, dict[str, Any]] = {
    201: {"description": "The report", "content": {JSON: AS_JSON}}
}
HEADERS = {"Content-Security-Policy": f"{STRICT_POLICY}; {STYLE_SOURCE}"}
Cursor = Annotated[str | None, Query(pattern="^[0-9]{1,18}$")]


@router.get("", responses=problems(), response_model_exclude_none=True)
async def list_reports(
    backend: TheBackend,
    limit: Annotated[int, Query(ge=1, le=1000)] = 50,
    cursor: Cursor = None,
) -> ReportList:
    """The stored reports, newest first."""
    before = int(cursor) if cursor is not None else None
    rows = await backend.read(lambda c: stored_reports(c, before=before, most=limit + 1))
    return ReportList(
        reports=[row_of(row) for row in rows[:limit]], limit=limit,
        next_cursor=str(rows[limit - 1].id) if len(rows) > limit else None,
    )  # fmt: skip


@router.post("", status_code=201, response_class=Response, responses=CREATED | problems(507))
async def create_report(
    backend: TheBackend, hours: Annotated[int, Query(ge=1, le=MOST_HOURS)] = 6
) -> Response:
    """Make a report on the last hours now, and store it."""
    report = await backend.make_report(hours)
    return Response(to_json(report), 201, {"Location": f"/reports/{report.id}"}, JSON)


@router.get("/latest", response_class=Response, responses=REPORT | problems(404))
async def get_latest_report(
    request: Request,
    backend: TheBackend,
    format: Format | None = None,  # noqa: A002
) -> Response:
    """The newest report: as a page for browsers (`Accept: text/html`, or `format=html`)."""
    return await _found(request, backend, LATEST, format)


@router.get("/{report_id}", response_class=Response, responses=REPORT | problems(404))
async def get_report(
    request: Request,
    report_id: str,
    backend: TheBackend,
    format: Format | None = None,  # noqa: A002
) -> Response:
    """A stored report, in the same two forms."""
    return await _found(request, backend, report_id, format)


async def _found(
    request: Request, backend: TheBackend, name: str, wanted: Format | None
) -> Response:
    report = await backend.read(lambda c: find_report(c, name))
    accepts_page = HTML in request.headers.get("accept", "")
    if wanted == "html" or (wanted is None and accepts_page):
        return Response(await offload(page, report), headers=HEADERS, media_type=HTML)
    return Response(to_json(report), media_type=JSON)
