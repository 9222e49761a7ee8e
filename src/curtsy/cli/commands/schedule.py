"""`curtsy schedule`: what is scheduled, now."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Annotated, Any

import typer

from curtsy.cli.commands.schedules import LIST_COMMAND, path_of
from curtsy.cli.console.completion import schedule_names
from curtsy.cli.console.connection import ApiNotFound, AsJson, Url, open_api
from curtsy.cli.console.exit_codes import FAILED
from curtsy.cli.console.job_wait import warn_without_worker
from curtsy.cli.console.output import echo, echo_json, note
from curtsy.cli.console.startup import run
from curtsy.cli.console.text import in_utf8, one_line
from curtsy.client import ApiConnection, Declined

AT_A_TIME = 1000
STORE_AWAY = 503

Source = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="Only schedules whose name is this or begins with it.",
        autocompletion=schedule_names,
    ),
]  # fmt: skip


Country = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Only this country's page, of sites that have countries."),
]


def schedule(
    source: Source = None, country: Country = None, as_json: AsJson = False, url: Url = None
) -> None:
    """Run what is scheduled now, by hand: every schedule that is on, or those of a source.

    Curtsy's own duties are left out. Slots stay as they are; what runs already is told.
    """
    named = in_utf8(source) if source else ""
    if country is not None:
        running = _each(url, partial(_sites, source=named), partial(_scrape, country=country))
    else:
        running = _each(url, partial(_meant, source=named), _run_one)
    found = run(running, doing="Running them")
    if as_json:
        echo_json(found)
    elif not found["queued"] and not found["refused"]:
        echo("There is nothing to run: `curtsy schedules add` makes a schedule.")
    else:
        for one in found["queued"]:
            echo(f"{one['job_id']}: {one_line(one['schedule'])}")
        for one in found["refused"]:
            note(f"{one_line(one['schedule'])}: {one_line(one['message'])}")
    if found["refused"]:
        raise typer.Exit(FAILED)


async def _each(
    url: str | None,
    meant: Callable[[ApiConnection], Awaitable[list[dict[str, Any]]]],
    run_one: Callable[[ApiConnection, dict[str, Any]], Awaitable[str]],
) -> dict[str, Any]:
    """What each came to: its job, or why there is none."""
    async with open_api(url, list_command=LIST_COMMAND) as api:
        queued, refused = [], []
        for one in await meant(api):
            try:
                job = await run_one(api, one)
            except Declined as declined:
                if declined.status in (401, 403, STORE_AWAY):
                    raise
                refused.append({"schedule": one["name"], "message": str(declined)})
            else:
                queued.append({"schedule": one["name"], "job_id": job})
        if queued:
            await warn_without_worker(api)
        return {"queued": queued, "refused": refused}


async def _run_one(api: ApiConnection, one: dict[str, Any]) -> str:
    """As it is scheduled."""
    return str((await api.request("POST", f"{path_of(one['id'])}/run"))["job_id"])


async def _scrape(api: ApiConnection, one: dict[str, Any], *, country: str) -> str:
    """The site, of that country alone."""
    body = {"site_name": one["name"], "country": in_utf8(country)}
    return str((await api.request("POST", "/jobs/scrape", body=body))["data"]["run_id"])


async def _sites(api: ApiConnection, *, source: str) -> list[dict[str, Any]]:
    """Those that have countries, and of which one is meant."""
    found = (await api.request("GET", "/jobs/sites"))["data"]["sites"]
    meant = [{"name": site["site_name"]} for site in found
             if "country" in site["search"] and site["site_name"].startswith(source)]  # fmt: skip
    if not meant:
        of = f" {source[:100]!r}" if source else ""
        raise ApiNotFound(f"There is no site{of} that has countries: `country_url` in "
                            "sites.toml names the page of one.")  # fmt: skip
    return meant


async def _meant(api: ApiConnection, *, source: str) -> list[dict[str, Any]]:
    named = [one async for one in _all(api) if one["name"].startswith(source)]
    if source and not named:
        raise ApiNotFound(f"There is no schedule {source[:100]!r}: "
                            f"`{LIST_COMMAND}` lists those that are there.")  # fmt: skip
    meant = [one for one in named if one["state"] == "waiting" and "duty" not in one["payload"]]
    if source and not meant:
        raise ApiNotFound(
            f"Nothing of {source[:100]!r} is on: `{LIST_COMMAND}` tells how it stands."
        )
    return meant


async def _all(api: ApiConnection) -> Any:
    cursor = None
    while True:
        found = await api.request("GET", "/schedules", query={"limit": AT_A_TIME, "cursor": cursor})
        for one in found["schedules"]:
            yield one
        cursor = found.get("next_cursor")
        if cursor is None:
            return
