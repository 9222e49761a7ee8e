"""`curtsy sites`: lists and shows declared sites, runs them, and prints their records."""

from typing import Annotated, Any
from urllib.parse import quote

import typer

from curtsy.cli.commands.jobs import Wait, show_status
from curtsy.cli.console.api_connection import AsJson, Url, open_api
from curtsy.cli.console.completion import site_names
from curtsy.cli.console.exit_codes import exit_code
from curtsy.cli.console.job_wait import warn_without_worker, watch_job
from curtsy.cli.console.output import echo, echo_json
from curtsy.cli.console.runner import run as run_loop
from curtsy.cli.console.table import facts, table
from curtsy.cli.console.text import in_utf8, one_line, to_minute
from curtsy.cli.options.webhook_option import Webhook, webhook_field

NameArgument = Annotated[
    str,
    typer.Argument(
        metavar="NAME", help="The site's name; `curtsy sites list` shows the names.",
        autocompletion=site_names,
    ),
]  # fmt: skip
Text = str | None
LIST_COMMAND = "curtsy sites list"


def list(as_json: AsJson = False, url: Url = None) -> None:  # noqa: A001 - the command's name
    """List the declared sites: when they run, their last and next run, what a search takes."""
    found = run_loop(_request(url, "GET", "/jobs/sites"), doing="Reading sites")["data"]
    if as_json:
        echo_json(found)
    elif not found["sites"]:
        echo("There are no sites yet: declare one in sites.toml, and start curtsy again.")
    else:
        rows = [(one["site_name"], _when(one), _moment(one["last_run_at"]),
                 _moment(one["next_run_at"]), ", ".join(one["search"]))
                for one in found["sites"]]  # fmt: skip
        headings = ("site", "when", "last run", "next run", "search by")
        echo("\n".join(table(headings, rows, cut=("search by",))))


def show(name: NameArgument, as_json: AsJson = False, url: Url = None) -> None:
    """Show the declaration of one site."""
    found = run_loop(_request(url, "GET", _path(name)), doing="Reading the site")
    if as_json:
        echo_json(found)
        return
    declared = {key: one_line(str(value)) for key, value in found["declared"].items()}
    echo("\n".join([one_line(found["name"]), *facts(declared)]))


def run(
    name: NameArgument,
    search_term: Annotated[Text, typer.Option(metavar="TEXT", help="What to search for.")] = None,
    location: Annotated[Text, typer.Option(metavar="TEXT", help="Where to search.")] = None,
    is_remote: Annotated[bool, typer.Option("--remote", help="Only remote offers.")] = False,
    country: Annotated[
        Text, typer.Option(metavar="NAME", help="Only this country's page, if the site has them.")
    ] = None,
    results_wanted: Annotated[
        int | None,
        typer.Option("--results", min=1, max=1000, metavar="N", help="How many records."),
    ] = None,
    priority: Annotated[
        int | None, typer.Option(min=1, max=10, metavar="N", help="1 is fetched first, 10 last.")
    ] = None,
    webhook: Webhook = None,
    wait: Wait = False,
    as_json: AsJson = False,
    url: Url = None,
) -> None:
    """Scrape a site now; a worker fetches its pages.

    What is not given comes from the site's declaration. `curtsy results RUN` prints the records.
    """
    texts = {"search_term": search_term, "location": location, "country": country}
    body = {"site_name": in_utf8(name)} | webhook_field(webhook)
    body |= {field: in_utf8(text) for field, text in texts.items() if text is not None}
    numbers = {"is_remote": is_remote or None, "results_wanted": results_wanted,
               "priority": priority}  # fmt: skip
    body |= {field: value for field, value in numbers.items() if value is not None}
    run_loop(_run(url, body, wait=wait, as_json=as_json))


def records(
    name: NameArgument,
    limit: Annotated[
        int, typer.Option(min=1, max=1000, metavar="N", help="How many to show.")
    ] = 50,
    as_json: AsJson = False,
    url: Url = None,
) -> None:
    """Print the records that runs of a site found, as last seen: a line of JSON each."""
    path = f"{_path(name)}/records"
    found = run_loop(_request(url, "GET", path, {"limit": limit}), doing="Reading records")
    if as_json:
        echo_json(found)
    elif not found["records"]:
        echo(f"{name} has no records yet: `curtsy sites run {name}` looks for some.")
    else:
        for one in found["records"]:
            echo_json({"_key": one["key"], "_last_seen_at": one["last_seen_at"]} | one["record"])


def _path(name: str) -> str:
    return f"/sites/{quote(in_utf8(name), safe='')}"


async def _request(
    url: str | None, method: str, path: str, query: dict[str, Any] | None = None
) -> Any:
    async with open_api(url, list_command=LIST_COMMAND) as api:
        return await api.request(method, path, query=query)


async def _run(url: str | None, body: dict[str, Any], *, wait: bool, as_json: bool) -> None:
    async with open_api(url, list_command=LIST_COMMAND) as api:
        started = (await api.request("POST", "/jobs/scrape", body=body))["data"]
        if not as_json:
            echo(started["run_id"])
        elif not wait:
            echo_json(started)
        if not wait:
            await warn_without_worker(api)
            return
        ended = await watch_job(api, started["run_id"], 1)
        show_status(ended, as_json=as_json)
        raise typer.Exit(exit_code(ended.completed, ended.failed + ended.cancelled))


def _when(one: dict[str, Any]) -> str:
    if not one["enabled"]:
        return "disabled"
    if one["cron"]:
        return str(one["cron"])
    minutes = one["interval_minutes"]
    return f"every {minutes} min" if minutes else "by hand"


def _moment(instant: str | None) -> str:
    return to_minute(instant) if instant else ""
