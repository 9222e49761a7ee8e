"""The interactive documentation of the API; all its scripts come from this server."""

from functools import cache
from importlib.resources import files

from fastapi import APIRouter, Response
from fastapi.responses import HTMLResponse

from curtsy.api.problems import problems
from curtsy.errors import NotFound

router = APIRouter()

VENDORED = {
    "swagger-ui-bundle.js": "text/javascript",
    "swagger-ui.css": "text/css",
    "favicon.png": "image/png",
}
"""Files in the folder `swagger_ui`, with their media types."""
START = "start.js"
A_DAY = {"Cache-Control": "max-age=86400"}
PAGE = f"""\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>curtsy</title>
<link rel="stylesheet" href="/docs/swagger-ui.css">
<link rel="icon" type="image/png" href="/docs/favicon.png">
</head>
<body>
<div id="swagger-ui"></div>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/{START}"></script>
</body>
</html>
"""
"""Without scripts of its own, so that a strict Content-Security-Policy is possible."""
SCRIPT = """\
SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#swagger-ui",
  layout: "BaseLayout",
  presets: [SwaggerUIBundle.presets.apis],
  deepLinking: true,
  showExtensions: true,
  showCommonExtensions: true,
  validatorUrl: null,
});
"""


@router.get("/docs", include_in_schema=False)
async def docs() -> HTMLResponse:
    return HTMLResponse(PAGE)


@router.get("/docs/{name}", include_in_schema=False, responses=problems(404))
async def asset(name: str) -> Response:
    if name == START:
        return Response(SCRIPT, media_type="text/javascript")
    if name not in VENDORED:
        raise NotFound("part of the documentation named", name[:100])
    return Response(_vendored(name), headers=A_DAY, media_type=VENDORED[name])


@cache
def _vendored(name: str) -> bytes:
    return (files("curtsy.api") / "swagger_ui" / name).read_bytes()
