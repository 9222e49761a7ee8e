"""`curtsy why`: explains what a job, a page or a source waits for."""

import re
from collections.abc import Iterator
from typing import Annotated, Any
from urllib.parse import quote

import typer

from curtsy.cli.console.api_connection import AsJson, Url, open_api
from curtsy.cli.console.completion import job_ids
from curtsy.cli.console.error_output import WrongUsage
from curtsy.cli.console.output import echo, echo_json
from curtsy.cli.console.runner import run
from curtsy.cli.console.text import HOUR, counted, one_line, span, to_second

_PAGE = re.compile(r"art_[0-9a-f]{1,15}")
_JOB = re.compile(r"(job|manual|sched)_[A-Za-z0-9_-]+")
_SOURCE = re.compile(r"[a-z0-9._:\[\]-]{1,253}")

LIST_COMMANDS = {
    "jobs": "curtsy jobs",
    "pages": "curtsy results JOB --json",
    "sources": "curtsy sources list` and `curtsy jobs",
}
"""By the first part of the path: the command that lists such things. What has no known form may be
a source or the name of a job."""

What = Annotated[
    str,
    typer.Argument(
        metavar="WHAT", autocompletion=job_ids,
        help="A job's id (job_…), a page's id (art_…), or a source's name (example.com).",
    ),
]  # fmt: skip


def why(what: What, as_json: AsJson = False, url: Url = None) -> None:
    """Explain why a job, page or source waits, when it will start or end, and what frees it."""
    found = run(_read(url, _path(what)), doing="Reading the reasons")
    if as_json:
        echo_json(found)
    else:
        echo("\n".join(_explain_job(found) if "job_id" in found else _explain_one(found)))


def _path(what: str) -> str:
    if _JOB.fullmatch(what):
        return f"/jobs/{what}/why"
    if _PAGE.fullmatch(what):
        return f"/pages/{what}/why"
    if _SOURCE.fullmatch(what.lower()):
        return f"/sources/{quote(what.lower(), safe='')}/why"
    raise WrongUsage(
        f"{one_line(what)[:80]!r} is not the id of a job or a page, nor the name of a source."
    )


async def _read(url: str | None, path: str) -> dict[str, Any]:
    kind = path.split("/")[1]
    async with open_api(url, list_command=LIST_COMMANDS[kind]) as api:
        found: dict[str, Any] = await api.request("GET", path)
        return found


def _explain_one(found: dict[str, Any]) -> Iterator[str]:
    state = found["state"].replace("_", " ")
    starts = found["predicted_start_at"]
    is_waiting = starts is not None and found["state"] in ("waiting", "ready")
    yield f"{found['name']}: {state}" + (f"; starts at {to_second(starts)}" if is_waiting else "")
    yield from _reasons(found["reasons"], "  ")
    if found["state"] == "ready":
        yield "  Nothing holds it back: a worker starts it within a moment."


def _explain_job(found: dict[str, Any]) -> Iterator[str]:
    eta, deadline = found["eta"], found["finish_by"]
    yield f"{found['job_id']}: {found['state']}" + (f"; ends at {to_second(eta)}" if eta else "")
    if deadline is not None:
        yield f"  To finish by {to_second(deadline)}: {_IN_TIME[found['in_time']]}"
    yield from _reasons(found["reasons"], "  ")
    for source in found["sources"]:
        ahead = f", {counted(source['ahead'], 'visit')} before the first" if source["ahead"] else ""
        first, last = source["predicted_start_at"], source["predicted_finish_at"]
        times = f"; the first at {to_second(first)}, the last at {to_second(last)}" if first else ""
        yield f"  {source['source']}: {counted(source['pages'], 'page')}{ahead}{times}"
        yield from _reasons(source["reasons"], "    ")
    if found["more_sources"]:
        yield f"  and {counted(found['more_sources'], 'more source')}, which end sooner"
    ledger = found["ledger"].items()
    spent = [f"{on.replace('_', ' ')} {span(hours * HOUR)}" for on, hours in ledger if hours]
    if spent:
        yield f"  Its pages' time so far: {', '.join(spent)}"


_IN_TIME = {
    True: "it will be in time.",
    False: "it will be late.",
    None: "the end cannot be predicted.",
}


def _reasons(reasons: list[dict[str, Any]], indent: str) -> Iterator[str]:
    for reason in reasons:
        yield f"{indent}{one_line(reason['because'])}"
        if reason["frees"]:
            yield f"{indent}  what frees it: {one_line(reason['frees'])}"
