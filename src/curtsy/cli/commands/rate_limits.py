"""`curtsy rate-limits`: each source's limits, how much is used, and its next request."""

from typing import Annotated, Any

import typer

from curtsy.cli.commands.sources import LIST_COMMAND, Limit, path_of
from curtsy.cli.console.api_connection import AsJson, Url, open_api
from curtsy.cli.console.completion import source_names
from curtsy.cli.console.output import echo, echo_json
from curtsy.cli.console.runner import run
from curtsy.cli.console.table import table
from curtsy.cli.views.sources import delay_now, limit, next_start, state_text

SHOWN = ("used_this_hour", "utilisation", "crawl_delay_seconds", "in_respectful_hours",
         "next_start_at", "waits_for", "paused", "resting")  # fmt: skip


def rate_limits(
    source: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Only this source.", autocompletion=source_names),
    ] = None,
    limit: Limit = 50,
    as_json: AsJson = False,
    url: Url = None,
) -> None:
    """Show each source's limits, how much is used, and when the next request may start."""
    found = run(_read(url, source, limit), doing="Reading the limits")
    if as_json:
        echo_json({"rate_limits": [_facts(one) for one in found["sources"]],
                  "next_cursor": found["next_cursor"]})  # fmt: skip
    elif not found["sources"]:
        echo("There are no sources yet: submit a page, or describe one with `curtsy sources set`.")
    else:
        more = ["  and more: --limit shows them"] if found["next_cursor"] else []
        echo("\n".join(_rows(found["sources"]) + more))


async def _read(url: str | None, source: str | None, limit: int) -> dict[str, Any]:
    async with open_api(url, list_command=LIST_COMMAND) as api:
        if source is not None:
            return {"sources": [await api.request("GET", path_of(source))], "next_cursor": None}
        found: dict[str, Any] = await api.request("GET", "/sources", query={"limit": limit})
        return found


def _rows(sources: list[dict[str, Any]]) -> list[str]:
    headings = ("source", "limit/h", "used", "utilisation", "delay", "next start", "now")
    return table(headings, [_row(one) for one in sources], cut=("now",))


def _row(source: dict[str, Any]) -> tuple[str, ...]:
    used, part = source["used_this_hour"], source["utilisation"]
    return (source["name"], limit(source), "" if used is None else str(used),
            "" if part is None else f"{part:.0%}", delay_now(source), next_start(source),
            state_text(source))  # fmt: skip


def _facts(source: dict[str, Any]) -> dict[str, Any]:
    policy = source["policy"]
    names = ("requests_per_hour", "burst_limit", "min_delay_seconds", "max_delay_seconds")
    return ({"source": source["name"]} | {name: policy[name] for name in names}
            | {name: source[name] for name in SHOWN})  # fmt: skip
