"""`curtsy doctor`: the state of the system, from the database or an API elsewhere."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from curtsy.cli.console.api_connection import AsJson, Url, open_api
from curtsy.cli.console.database_file import require_file
from curtsy.cli.console.exit_codes import FAILED
from curtsy.cli.console.output import echo, echo_json, note
from curtsy.cli.console.runner import run, settings_for
from curtsy.cli.console.table import facts
from curtsy.cli.views.doctor import page, plain

if TYPE_CHECKING:
    from curtsy.config import Settings
    from curtsy.reports.diagnosis import Diagnosis

OPEN = "queued"
"""The API's filter for jobs that have not ended."""


def doctor(
    sources: Annotated[
        int, typer.Option(min=0, max=10_000, metavar="N", help="How many sources to show.")
    ] = 20,
    as_json: AsJson = False,
    url: Url = None,
) -> None:
    """Show what waits, which workers are up, and what is wrong.

    Reads the database and changes nothing. With --url it reads an API, which shows less: no
    workers by name, no sources. Exit code 1 if something is wrong: pages wait and no worker is up,
    schedules are due and no scheduler is up, or the database does not answer.
    """
    if url:
        _show_remote(url, as_json=as_json)
        return
    settings = settings_for()
    require_file(settings)
    schema, found = run(_examine(settings, sources), doing="Examining the database")
    if as_json:
        echo_json({"schema": schema, **plain(found)})
    else:
        echo(page(schema, found))
    if found.problems:
        raise typer.Exit(FAILED)


async def _examine(settings: "Settings", sources: int) -> "tuple[str, Diagnosis]":
    from curtsy.processes.startup import opened
    from curtsy.reports.diagnosis import diagnose
    from curtsy.store.version import newest, require_known_schema

    async with opened(settings) as store:
        await require_known_schema(store)
        return newest(), await store.read(lambda c: diagnose(c, sources=sources))


def _show_remote(url: str, *, as_json: bool) -> None:
    found = run(_read_remote(url), doing="Reading the API")
    problems = _problems(found)
    if as_json:
        echo_json(found | {"problems": problems})
    else:
        echo("\n".join(facts(found)))
    for problem in problems:
        note(f"Problem: {problem}")
    if problems:
        raise typer.Exit(FAILED)
    if not found["workers"]:
        note("No worker is up, so nothing would be fetched: `curtsy worker` starts one.")


def _problems(found: dict[str, Any]) -> list[str]:
    if found["store"] != "ok":
        return ["The API answers, but its database does not: check the API's machine."]
    if found["open_jobs"] and not found["workers"]:
        return ["Jobs wait and no worker is up: `curtsy up` or `curtsy worker` starts one."]
    return []


async def _read_remote(url: str) -> dict[str, Any]:
    async with open_api(url) as api:
        health = await api.health()
        found = {name: health[name] for name in ("status", "store", "workers", "version")}
        if found["store"] == "ok":
            jobs = await api.request("GET", "/jobs", query={"limit": 1, "status_filter": OPEN})
            letters = await api.request("GET", "/dead-letters", query={"limit": 1})
            found["open_jobs"] = jobs["total"]
            found["dead_letters"] = sum(group["count"] for group in letters["groups"])
        return found
