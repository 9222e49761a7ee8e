"""`curtsy plan`: previews a job without submitting it, or all that is scheduled."""

from collections.abc import Iterator
from typing import Annotated, Any

import typer

from curtsy.cli.console.api_connection import AsJson, Url, open_api
from curtsy.cli.console.error_output import WrongUsage
from curtsy.cli.console.output import echo, echo_json
from curtsy.cli.console.progress import spinner
from curtsy.cli.console.runner import run
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
        typer.Option(
            metavar="MOMENT",
            help="Check this deadline, such as 2030-01-01T12:00:00Z.",
        ),
    ] = None,
    ignore_cache: Annotated[
        bool, typer.Option("--ignore-cache", help="Plan as if the store were empty.")
    ] = False,
    ahead: Annotated[
        str | None,
        typer.Option(
            "--next",
            metavar="SPAN",
            help="Preview the schedules for this span instead, such as 7d or 24h.",
        ),
    ] = None,
    as_json: AsJson = False,
    url: Url = None,
) -> None:
    """Preview a job without submitting it: what it would fetch and when it would end.

    No site is contacted. Shows how many pages are in the store, are queued by other jobs, or are
    forbidden by robots.txt as far as it is known, and predicts the end from the sources' limits.

    With --next, preview the schedules: the busiest hours, schedules that use one source at the same
    time, and runs that take too long for their slots.
    """
    if ahead is not None:
        if urls or file or finish_by:
            raise WrongUsage("--next previews the schedules: give it without articles.")
        show_plan(ahead, as_json=as_json, url=url)
        return
    body: dict[str, Any] = {
        "articles": [{"url": one, "priority": priority} for one in read_urls(urls, file)],
        "ignore_cache": ignore_cache, "dry_run": True,
    }  # fmt: skip
    found = run(_preview(url, body | ({"finish_by": in_utf8(finish_by)} if finish_by else {})))
    if as_json:
        echo_json(found)
    else:
        echo("\n".join(_page(found)))


async def _preview(url: str | None, body: dict[str, Any]) -> dict[str, Any]:
    async with open_api(url, create=True) as api:
        with spinner(f"Planning {counted(len(body['articles']), 'page')}"):
            found: dict[str, Any] = await api.request("POST", "/jobs/submit", body=body)
        return found


def _page(found: dict[str, Any]) -> Iterator[str]:
    yield (f"{counted(found['total'], 'page')}: {found['new']} to fetch, {found['cached']} in the "
           f"store already, {found['joined']} that other jobs wait for")  # fmt: skip
    if found["refused_by_guard"]:
        refused = counted(found["refused_by_guard"], "page")
        yield f"  {refused} at addresses that curtsy may not connect to"
    if found["refused_by_robots"]:
        yield f"  {counted(found['refused_by_robots'], 'page')} that robots.txt forbids"
    yield from (f"    such as {one_line(one)}" for one in found["refused_urls"][:3])
    if found["sources"]:
        rows = [(s["source"], str(s["pages"]), str(s["ahead"]), _instant(s, "predicted_start_at"),
                 _instant(s, "predicted_finish_at")) for s in found["sources"][:SHOWN]]  # fmt: skip
        yield from table(("source", "pages", "ahead", "first", "last"), rows, cut=("source",))
    yield from (one_line(reason["because"]) for reason in found["reasons"])
    if found["sources"] and found.get("predicted_finish_at") is None:
        yield "So the end cannot be predicted."
    elif found["sources"]:
        end = to_second(found["predicted_finish_at"])
        started = "a worker is started now and " if found["assumes_worker"] else ""
        yield f"It would end at {end}, if {started}nothing else is submitted."
    if found.get("in_time") is not None:
        yield "That is in time." if found["in_time"] else "That is too late."
    if found.get("suggestion"):
        yield from _suggestions(found["suggestion"])


def _instant(source: dict[str, Any], field: str) -> str:
    return to_second(source[field]) if source.get(field) else "?"


def _suggestions(found: dict[str, Any]) -> Iterator[str]:
    source = found["source"]
    pages = counted(found["pages_in_time"], "page")
    yield f"  {pages} of {source} would be in time. For all of them, one of these is enough:"
    ways = []
    if at := found.get("with_priority_1_finish_at"):
        ways.append(f"priority 1 (it ends at {to_second(at)})")
    if delay := found.get("min_delay_seconds_needed"):
        ways.append(f"a request to {source} every {delay:g} s")
    if limit := found.get("requests_per_hour_needed"):
        ways.append(f"{limit} requests an hour to {source}")
    if at := found.get("without_respectful_hours_finish_at"):
        ways.append(f"{source} without its respectful hours (it ends at {to_second(at)})")
    yield from (f"    {way}" for way in ways or ["fewer pages; no other single change is enough"])
