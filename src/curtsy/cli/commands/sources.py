"""`curtsy sources`: describes, lists, pauses and removes sources, and prints receipts."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import typer

from curtsy.cli.console.api_connection import AsJson, Url, open_api
from curtsy.cli.console.completion import source_names
from curtsy.cli.console.output import echo, echo_json
from curtsy.cli.console.runner import run, settings_for
from curtsy.cli.console.table import table
from curtsy.cli.console.text import counted, in_utf8
from curtsy.cli.options import source_options as options
from curtsy.cli.views.sources import listed, page
from curtsy.client import ApiConnection, Declined

NameArgument = Annotated[
    str,
    typer.Argument(
        metavar="NAME", help="The source's name; `curtsy sources list` shows the names.",
        autocompletion=source_names,
    ),
]  # fmt: skip
Limit = Annotated[int, typer.Option(min=1, max=1000, metavar="N", help="How many to show.")]
LIST_COMMAND = "curtsy sources list"
NOT_FOUND = 404


def list(  # noqa: A001 - the command's name
    limit: Limit = 50,
    described: Annotated[
        bool, typer.Option("--described", help="Only sources that were described.")
    ] = False,
    as_json: AsJson = False,
    url: Url = None,
) -> None:
    """List sources by name: limits, waiting pages, state."""
    query = {"limit": limit, "described": "true" if described else None}
    found = run(_request(url, "GET", "/sources", query=query), doing="Reading sources")
    if as_json:
        echo_json(found)
    elif not found["sources"]:
        echo("No source is described: `curtsy sources set NAME` describes one." if described else
            "There are no sources yet: submit a page, or describe one with "
            "`curtsy sources set NAME`.")  # fmt: skip
    else:
        more = ["  and more: --limit shows them"] if found["next_cursor"] else []
        echo("\n".join(listed(found["sources"]) + more))


def show(name: NameArgument, as_json: AsJson = False, url: Url = None) -> None:
    """Show one source: its hosts, its policy, its state."""
    _show(run(_request(url, "GET", path_of(name)), doing="Reading the source"), as_json=as_json)


def set(  # noqa: A001 - the command's name
    name: NameArgument,
    hosts: options.Hosts = None,
    requests_per_hour: options.PerHour = None,
    burst: options.Burst = None,
    min_delay: options.MinDelay = None,
    max_delay: options.MaxDelay = None,
    concurrency: options.Concurrency = None,
    hours: options.HoursOption = None,
    timezone: options.Timezone = None,
    slowdown: options.Slowdown = None,
    closed: options.Closed = False,
    max_retries: options.Retries = None,
    timeout: options.Timeout = None,
    robots: options.Robots = None,
    user_agent: options.UserAgent = None,
    header: options.Header = None,
    proxy: options.ProxyOption = None,
    enabled: options.Enabled = None,
    reset: options.Reset = None,
    as_json: AsJson = False,
    url: Url = None,
) -> None:
    """Describe what a source allows; options that you leave out stay as they are.

    Creates the source if it does not exist. A change applies to the next request, on every worker
    within a second.
    """
    given = {
        "hosts": options.hosts_from(hosts), "requests_per_hour": requests_per_hour,
        "burst_limit": burst, "min_delay_seconds": min_delay, "max_delay_seconds": max_delay,
        "concurrency": concurrency, "max_retries": max_retries, "timeout": timeout,
        "respectful_hours": options.hours_from(hours, timezone, slowdown, closed=closed),
        "robots": robots, "user_agent": in_utf8(user_agent) if user_agent else None,
        "headers": options.headers_from(header),
        "enabled": enabled,
    }  # fmt: skip
    body = options.patch_body(given, reset or [], options.proxies_from(proxy))
    _show(
        run(_change_or_create(url, path_of(name), body), doing="Describing the source"),
        as_json=as_json,
    )


def pause(name: NameArgument, as_json: AsJson = False, url: Url = None) -> None:
    """Pause a source: no requests to its hosts until it is resumed; pages stay queued."""
    found = run(_request(url, "POST", f"{path_of(name)}/pause"), doing="Pausing the source")
    _show_text(found, f"{found['name']} is paused: {_waiting(found)}.", as_json=as_json)


def resume(name: NameArgument, as_json: AsJson = False, url: Url = None) -> None:
    """Resume a paused source, at its own pace."""
    found = run(_request(url, "POST", f"{path_of(name)}/resume"), doing="Resuming the source")
    _show_text(found, f"{found['name']} is resumed: {_waiting(found)}.", as_json=as_json)


def remove(name: NameArgument, as_json: AsJson = False, url: Url = None) -> None:
    """Remove the description of a source; its pages stay queued.

    A source with a section in the sources file comes back when a process starts: remove the section
    too.
    """
    gone = run(_request(url, "DELETE", path_of(name)), doing="Removing the source")
    _show_text(gone, gone["message"], as_json=as_json)


def apply(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="File such as sources.toml.")],
    as_json: AsJson = False,
    url: Url = None,
) -> None:
    """Describe the sources of a file now.

    Each section replaces the earlier description of its source; sources that are not in the file
    stay. Processes apply the file in CURTSY_SOURCES_FILE themselves when they start.
    """
    from curtsy.config.conversions import policy
    from curtsy.config.sources_file import sections_of

    sections = sections_of(file, policy(settings_for(log_level="WARNING")))
    bodies = {name: one.model_dump(exclude_unset=True) for name, one in sections.items()}
    found = run(_put_all(url, bodies), doing=f"Describing {counted(len(bodies), 'source')}")
    if as_json:
        echo_json({"sources": found})
    elif not found:
        echo(f"{file} describes no sources.")
    else:
        echo("\n".join([f"{counted(len(found), 'source')} described:", *listed(found)]))


async def _request(
    url: str | None, method: str, path: str, *, query: dict[str, Any] | None = None
) -> Any:
    async with open_api(url, list_command=LIST_COMMAND) as api:
        return await api.request(method, path, query=query)


async def _change_or_create(url: str | None, path: str, body: dict[str, Any]) -> Any:
    async with open_api(url, create=True, list_command=LIST_COMMAND) as api:
        try:
            return await api.request("PATCH", path, body=body)
        except Declined as declined:
            if declined.status != NOT_FOUND:
                raise
        return await api.request("PUT", path, body=body)


async def _put_all(url: str | None, bodies: dict[str, Any]) -> Any:
    async with open_api(url, create=True, list_command=LIST_COMMAND) as api:
        return [await _put(api, name, body) for name, body in bodies.items()]


async def _put(api: ApiConnection, name: str, body: Any) -> Any:
    return await api.request("PUT", path_of(name), body=body)


def path_of(name: str) -> str:
    return f"/sources/{quote(in_utf8(name), safe='')}"


def _show(found: dict[str, Any], *, as_json: bool) -> None:
    _show_text(found, "" if as_json else page(found), as_json=as_json)


def _show_text(found: dict[str, Any], text: str, *, as_json: bool) -> None:
    if as_json:
        echo_json(found)
    else:
        echo(text)


def _waiting(found: dict[str, Any]) -> str:
    number = counted(found["waiting"], "page", capped=found["waiting_is_capped"])
    return f"{number} {'waits' if number == '1 page' else 'wait'}"


RECEIPT_HEADINGS = ("day", "requests", "smallest gap", "Retry-Afters", "unchanged", "bytes",
                    "bytes saved", "robots.txt refusals")  # fmt: skip


def receipt(
    name: NameArgument,
    days: Annotated[
        int, typer.Option(min=1, max=92, metavar="N", help="Number of days, including today.")
    ] = 7,
    as_json: AsJson = False,
    url: Url = None,
) -> None:
    """Show what curtsy requested from a source, day by day: proof of good manners.

    In a browser, /sources/NAME/receipt of the API is a page that you can send to the site's owner.
    """
    path = f"{path_of(name)}/receipt"
    found = run(_request(url, "GET", path, query={"days": days}), doing="Reading the receipt")
    if as_json:
        echo_json(found)
    else:
        echo("\n".join(_page(found)))


def _page(found: dict[str, Any]) -> Iterator[str]:
    yield f"{found['source']} ({', '.join(found['hosts'])})"
    rows = [_cells(day["day"], day) for day in found["days"]]
    yield from table(RECEIPT_HEADINGS, [*rows, _cells("total", found["total"])])


def _cells(name: str, day: dict[str, Any]) -> tuple[str, ...]:
    gap = day["smallest_gap_seconds"]
    return (
        name, f"{day['requests']:,}", "-" if gap is None else f"{gap:.3f} s",
        f"{day['retry_afters_honoured']:,}", f"{day['not_modified']:,}", f"{day['bytes']:,}",
        f"{day['bytes_saved']:,}", f"{day['robots_refusals']:,}",
    )  # fmt: skip
