"""`curtsy schedule`: runs schedules now."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from functools import partial
from typing import Annotated, Any

import typer

from curtsy.cli.commands.schedules import LIST_COMMAND, path_of
from curtsy.cli.console.api_connection import ApiNotFound, AsJson, Url, open_api
from curtsy.cli.console.completion import schedule_names
from curtsy.cli.console.error_output import WrongUsage
from curtsy.cli.console.exit_codes import FAILED
from curtsy.cli.console.job_wait import warn_without_worker
from curtsy.cli.console.output import echo, echo_json, note
from curtsy.cli.console.runner import run
from curtsy.cli.console.text import in_utf8, one_line
from curtsy.cli.options.webhook_option import Webhook, webhook_field
from curtsy.client import ApiConnection, Declined
from curtsy.model.priorities import CELERY_PRIORITIES, from_celery

AT_A_TIME = 1000
STORE_AWAY = 503

Source = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="Only schedules whose name begins with this.",
        autocompletion=schedule_names,
    ),
]  # fmt: skip


Country = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="Scrape only this country's page, on sites that have countries."
    ),
]


Priority = Annotated[
    int | None,
    typer.Option(
        min=CELERY_PRIORITIES[0], max=CELERY_PRIORITIES[-1], metavar="N",
        help="Celery's priority: 9 is the most urgent, 0 the last. By default each schedule's own.",
    ),
]  # fmt: skip


def schedule(
    source: Source = None,
    country: Country = None,
    priority: Priority = None,
    webhook: Webhook = None,
    as_json: AsJson = False,
    url: Url = None,
) -> None:
    """Run schedules now: all that are on, or those of one source.

    Skips curtsy's own maintenance tasks (duties). Slots stay as they are. Exit code 1 if a schedule
    could not run, for example because its last run still goes on. --webhook is for --country; a
    schedule has its own (`curtsy schedules edit NAME --webhook URL`).
    """
    if webhook is not None and country is None:
        raise WrongUsage("--webhook needs --country; a schedule has its own webhook: see "
                         "`curtsy schedules edit --help`.")  # fmt: skip
    named = in_utf8(source) if source else ""
    ours = None if priority is None else from_celery(priority)
    if country is not None:
        running = _run_each(url, partial(_sites, source=named),
                            partial(_scrape, country=country, priority=ours,
                                    more=webhook_field(webhook)))  # fmt: skip
    else:
        running = _run_each(url, partial(_enabled, source=named), partial(_run_one, priority=ours))
    found = run(running, doing="Running schedules")
    if as_json:
        echo_json(found)
    elif not found["queued"] and not found["refused"]:
        echo("There is nothing to run: `curtsy schedules add` creates a schedule.")
    else:
        for one in found["queued"]:
            echo(f"{one['job_id']}: {one_line(one['schedule'])}")
        for one in found["refused"]:
            note(f"{one_line(one['schedule'])}: {one_line(one['message'])}")
    if found["refused"]:
        raise typer.Exit(FAILED)


async def _run_each(
    url: str | None,
    select: Callable[[ApiConnection], Awaitable[list[dict[str, Any]]]],
    run_one: Callable[[ApiConnection, dict[str, Any]], Awaitable[str]],
) -> dict[str, Any]:
    """Runs each selected schedule or site; returns the jobs, and the refusals with their reason."""
    async with open_api(url, list_command=LIST_COMMAND) as api:
        queued, refused = [], []
        for one in await select(api):
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


async def _run_one(api: ApiConnection, one: dict[str, Any], *, priority: int | None) -> str:
    """Runs a schedule and returns the job's id."""
    path = f"{path_of(one['id'])}/run"
    return str((await api.request("POST", path, query={"priority": priority}))["job_id"])


async def _scrape(
    api: ApiConnection, one: dict[str, Any], *, country: str, priority: int | None,
    more: dict[str, Any],
) -> str:  # fmt: skip
    """Scrapes one country's page of a site and returns the run's id."""
    body = {"site_name": one["name"], "country": in_utf8(country)} | more
    body |= {"priority": priority} if priority is not None else {}
    return str((await api.request("POST", "/jobs/scrape", body=body))["data"]["run_id"])


async def _sites(api: ApiConnection, *, source: str) -> list[dict[str, Any]]:
    """Sites that have countries and whose name begins with `source`."""
    found = (await api.request("GET", "/jobs/sites"))["data"]["sites"]
    with_countries = [site["site_name"] for site in found if "country" in site["search"]]
    selected = [{"name": name} for name in with_countries if name.startswith(source)]
    if not selected:
        of = f" {source[:100]!r}" if source else ""
        raise ApiNotFound(f"There is no site{of} that has countries: set `country_url` in "
                          "sites.toml to the page of a country.")  # fmt: skip
    return selected


async def _enabled(api: ApiConnection, *, source: str) -> list[dict[str, Any]]:
    """Schedules that are on, submit jobs, and whose name begins with `source`."""
    named = [one async for one in _all(api) if one["name"].startswith(source)]
    if source and not named:
        raise ApiNotFound(f"There is no schedule {source[:100]!r}: see `{LIST_COMMAND}`.")
    selected = [one for one in named if one["state"] == "waiting" and "duty" not in one["payload"]]
    if source and not selected:
        raise ApiNotFound(
            f"No schedule of {source[:100]!r} can run: all are paused, done or duties "
            f"(see `{LIST_COMMAND}`)."
        )
    return selected


async def _all(api: ApiConnection) -> AsyncGenerator[dict[str, Any]]:
    cursor = None
    while True:
        found = await api.request("GET", "/schedules", query={"limit": AT_A_TIME, "cursor": cursor})
        for one in found["schedules"]:
            yield one
        cursor = found.get("next_cursor")
        if cursor is None:
            return
