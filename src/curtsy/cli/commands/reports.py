"""`curtsy generate-report` and `curtsy reports`: makes, lists and shows reports."""

from enum import Enum, auto
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import orjson
import typer

from curtsy.cli.console.api_connection import AsJson, Url, open_api
from curtsy.cli.console.error_output import WrongUsage
from curtsy.cli.console.output import echo, echo_json
from curtsy.cli.console.runner import run
from curtsy.cli.console.text import in_utf8, one_line
from curtsy.cli.views.reports import listed, summary
from curtsy.cli.views.results import open_output
from curtsy.client import ApiConnection

LIST_COMMAND = "curtsy reports list"


class Form(Enum):
    PAGE = auto()
    JSON = auto()


ENDINGS = {".html": Form.PAGE, ".htm": Form.PAGE, ".json": Form.JSON}

Out = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="Write the report to this file: .html is a page to look at, or .json."
    ),
]


def generate_report(
    hours: Annotated[int, typer.Option(min=1, max=8_760, metavar="N", help="Period in hours.")] = 6,
    out: Out = None,
    as_json: AsJson = False,
    url: Url = None,
) -> None:
    """Report on the last hours: volume, success, slow and failing sources, courtesy.

    Prints a summary. The report is stored: `curtsy reports show` finds it again, and an API shows
    it in a browser at /reports/latest.
    """
    form = _form_of(out)
    found = run(_made(url, hours, out, form), doing="Making the report")
    _show(found, out, as_json=as_json)


def list(  # noqa: A001 - the command's name
    limit: Annotated[
        int, typer.Option(min=1, max=1000, metavar="N", help="How many to show.")
    ] = 20,
    as_json: AsJson = False,
    url: Url = None,
) -> None:
    """List the stored reports, newest first."""
    found = run(_request(url, "GET", "/reports", {"limit": limit}), doing="Reading the reports")
    if as_json:
        echo_json(found)
    else:
        echo("\n".join(listed(found["reports"])))


def show(
    report: Annotated[
        str, typer.Argument(metavar="REPORT", help="Its id; without one, the newest.")
    ] = "latest",
    out: Out = None,
    as_json: AsJson = False,
    url: Url = None,
) -> None:
    """Show a stored report as a summary, or write it to a file."""
    form = _form_of(out)
    found = run(_stored(url, report, out, form), doing="Reading the report")
    _show(found, out, as_json=as_json)


def _form_of(out: Path | None) -> Form | None:
    if out is None:
        return None
    form = ENDINGS.get(out.suffix.lower())
    if form is None:
        ending = one_line(in_utf8(out.suffix))
        raise WrongUsage(f"--out does not write {ending!r} files: it writes .html and .json.")
    return form


async def _request(url: str | None, method: str, path: str, query: dict[str, Any]) -> Any:
    async with open_api(url, list_command=LIST_COMMAND) as api:
        return await api.request(method, path, query=query)


async def _made(url: str | None, hours: int, out: Path | None, form: Form | None) -> Any:
    with open_output(out) as to:
        async with open_api(url, list_command=LIST_COMMAND) as api:
            found = await api.request("POST", "/reports", query={"hours": hours})
            if form is not None:
                to.write(await _text(api, found, form))
            return found


async def _stored(url: str | None, report: str, out: Path | None, form: Form | None) -> Any:
    with open_output(out) as to:
        async with open_api(url, list_command=LIST_COMMAND) as api:
            found = await api.request("GET", f"/reports/{_quoted(report)}")
            if form is not None:
                to.write(await _text(api, found, form))
            return found


async def _text(api: ApiConnection, found: dict[str, Any], form: Form) -> str:
    if form is Form.JSON:
        return orjson.dumps(found, option=orjson.OPT_INDENT_2).decode() + "\n"
    return await api.text(f"/reports/{found['id']}", query={"format": "html"})


def _quoted(report: str) -> str:
    return quote(in_utf8(report), safe="")


def _show(found: dict[str, Any], out: Path | None, *, as_json: bool) -> None:
    if as_json:
        echo_json(found)
        return
    where = f"Written to {out}." if out is not None else (
        f"`curtsy reports show {found['id']} --out report.html` writes it as a page with charts."
    )  # fmt: skip
    echo("\n".join([*summary(found), "", where]))
