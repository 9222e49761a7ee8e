"""The interactive documentation of the API; all its scripts come from this server."""

import re
from importlib.resources import files

from fastapi import APIRouter, Response
from fastapi.openapi.docs import get_swagger_ui_html
from fastapi.responses import HTMLResponse

from curtsy.api.middleware.security_headers import PAGE_POLICY, hash_of
from curtsy.api.problems import problems
from curtsy.errors import NotFound

router = APIRouter()

ASSETS = {
    "swagger-ui-bundle.js": "text/javascript",
    "swagger-ui.css": "text/css",
    "favicon.png": "image/png",
}
A_DAY = {"Cache-Control": "max-age=86400"}


@router.get("/docs", include_in_schema=False)
async def docs() -> HTMLResponse:
    page = get_swagger_ui_html(
        openapi_url="/openapi.json",
        title="curtsy",
        swagger_js_url="/docs/swagger-ui-bundle.js",
        swagger_css_url="/docs/swagger-ui.css",
        swagger_favicon_url="/docs/favicon.png",
    )
    [script] = re.findall("<script>(.*?)</script>", bytes(page.body).decode(), re.DOTALL)
    allowed = f"script-src 'self' {hash_of(script)}"
    page.headers["Content-Security-Policy"] = PAGE_POLICY.replace("script-src 'self'", allowed)
    return page


@router.get("/docs/{name}", include_in_schema=False, responses=problems(404))
async def asset(name: str) -> Response:
    if name not in ASSETS:
        raise NotFound("part of the documentation named", name[:100])
    content = (files("fastapi_offline") / "static" / name).read_bytes()
    return Response(content, headers=A_DAY, media_type=ASSETS[name])
