"""`curtsy plan`: what a job would come to without submitting it, or all that is scheduled."""

from collections.abc import Iterator
from typing import Annotated, Any

import typer

from curtsy.cli.console.connection import AsJson, Url, open_api
from curtsy.cli.console.errors import WrongUsage
from curtsy.cli.console.output import echo, echo_json
from curtsy.cli.console.progress import spinner
from curtsy.cli.console.startup import run
from curtsy.cli.console.table import table
from curtsy.cli.console.text import counted, in_utf8, one_line, to_second
from curtsy.cli.console.url_arguments import File, Urls, read_urls
from curtsy.cli.views.schedule_preview import show_plan

SHOWN = 20


def plan(
    urls: Urls = None,
    file: File = None,
    priority: Annotated[
        int, typer.Option(min=1, max=10, metavar="N", help="1 is fetched first, 10 last.")
    ] = 5,
    finish_by: Annotated[
        str | None,
        typer.Option(metavar="MOMENT", help="In time or not? As 2030-01-01T12:00:00Z."),
    ] = None,
    ignore_cache: Annotated[
        bool, typer.Option("--ignore-cache", help="As if nothing were in the store.")
    ] = False,
    ahead: Annotated[
        str | None,
        typer.Option("--next", metavar="SPAN", help="Of the schedules instead, as 7d or 24h."),
    ] = None,
    as_json: AsJson = False,
    url: Url = None,
) -> None:
    """What a job of these articles would come to: nothing is submitted, no site is asked.

    What is in the store, what other jobs wait for, what robots.txt forbids as far as it is known;
    and when it would end, by the rules that pace the requests.

    With --next, what the schedules will do: the busiest hours, which of them ask one source at the
    same time, and which take too long for their slots.
    """
    if ahead is not None:
        if urls or file or finish_by:
            raise WrongUsage("--next is about the schedules: give it without articles.")
        show_plan(ahead, as_json=as_json, url=url)
        return
    body: dict[str, Any] = {
        "articles": [{"url": one, "priority": priority} for one in read_urls(urls, file)],
        "ignore_cache": ignore_cache, "dry_run": True,
    }  # fmt: skip
    found = run(_asked(url, body | ({"finish_by": in_utf8(finish_by)} if finish_by else {})))
    if as_json:
        echo_json(found)
    else:
        echo("\n".join(_page(found)))


async def _asked(url: str | None, body: dict[str, Any]) -> dict[str, Any]:
    async with open_api(url, create=True) as api:
        with spinner(f"Planning {counted(len(body['articles']), 'page')}"):
            found: dict[str, Any] = await api.request("POST", "/jobs/submit", body=body)
        return found


def _page(found: dict[str, Any]) -> Iterator[str]:
    yield (f"{counted(found['total'], 'page')}: {found['new']} to fetch, {found['cached']} in the "
           f"store already, {found['join_paths']} that other jobs wait for")  # fmt: skip
    if found["refused_by_guard"]:
        yield f"  {counted(found['refused_by_guard'], 'page')} at addresses we may not connect to"
    if found["refused_by_robots"]:
        yield f"  {counted(found['refused_by_robots'], 'page')} that robots.txt forbids"
    yield from (f"    as {one_line(one)}" for one in found["refused_urls"][:3])
    if found["sources"]:
        rows = [(s["source"], str(s["pages"]), str(s["ahead"]), _told(s, "predicted_start_at"),
                 _told(s, "predicted_finish_at")) for s in found["sources"][:SHOWN]]  # fmt: skip
        yield from table(("source", "pages", "ahead", "first", "last"), rows, cut=("source",))
    yield from (one_line(reason["because"]) for reason in found["reasons"])
    if found["sources"] and found.get("predicted_finish_at") is None:
        yield "So nobody can tell when it ends."
    elif found["sources"]:
        yield f"Ends at {to_second(found['predicted_finish_at'])}, if nothing else is submitted."
    if found.get("in_time") is not None:
        yield "That is in time." if found["in_time"] else "That is too late."
    if found.get("suggestion"):
        yield from _suggested(found["suggestion"])


def _told(source: dict[str, Any], what: str) -> str:
    return to_second(source[what]) if source.get(what) else "?"


def _suggested(said: dict[str, Any]) -> Iterator[str]:
    source = said["source"]
    yield f"  {counted(said['pages_in_time'], 'page')} of {source} would be in time. What would do:"
    ways = []
    if at := said.get("with_priority_1_finish_at"):
        ways.append(f"priority 1 (it ends at {to_second(at)})")
    if delay := said.get("min_delay_seconds_needed"):
        ways.append(f"a request to {source} every {delay:g} s")
    if limit := said.get("requests_per_hour_needed"):
        ways.append(f"{limit} requests an hour to {source}")
    if at := said.get("without_respectful_hours_finish_at"):
        ways.append(f"{source} without its respectful hours (it ends at {to_second(at)})")
    yield from (f"    {way}" for way in ways or ["fewer pages; no other change does it alone"])
