"""`curtsy sources`: what each site allows, and how it stands."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import typer

from curtsy.cli.console import source_options as options
from curtsy.cli.console.completion import source_names
from curtsy.cli.console.connection import AsJson, Url, open_api
from curtsy.cli.console.output import echo, echo_json
from curtsy.cli.console.startup import run, settings_for
from curtsy.cli.console.table import table
from curtsy.cli.console.text import counted, in_utf8
from curtsy.cli.views.sources import listed, page
from curtsy.client import ApiConnection, Declined

NameArgument = Annotated[
    str,
    typer.Argument(
        metavar="NAME", help="Its name, as `curtsy sources list` has it.",
        autocompletion=source_names,
    ),
]  # fmt: skip
Limit = Annotated[int, typer.Option(min=1, max=1000, metavar="N", help="How many to show.")]
LIST_COMMAND = "curtsy sources list"
NOT_FOUND = 404


def list(  # noqa: A001 - the command's name
    limit: Limit = 50,
    described: Annotated[
        bool, typer.Option("--described", help="Only those that somebody described.")
    ] = False,
    as_json: AsJson = False,
    url: Url = None,
) -> None:
    """Sources by name: what they allow, what waits, how they stand."""
    query = {"limit": limit, "described": "true" if described else None}
    found = run(ask(url, "GET", "/sources", query=query), doing="Looking for sources")
    if as_json:
        echo_json(found)
    elif not found["sources"]:
        echo("There are no such sources: `curtsy sources set NAME` describes one." if described else
            "There are no sources yet: submit a page, or describe one with "
            "`curtsy sources set NAME`.")  # fmt: skip
    else:
        more = ["  and more: --limit shows them"] if found["next_cursor"] else []
        echo("\n".join(listed(found["sources"]) + more))


def show(name: NameArgument, as_json: AsJson = False, url: Url = None) -> None:
    """One source: its hosts, its policy, and how it stands."""
    _show(run(ask(url, "GET", path_of(name)), doing="Looking for it"), as_json=as_json)


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
    """Say what a source allows; what is left out stays as it is.

    One that nobody described yet is made. A change holds for the next request, on every worker
    within a second.
    """
    given = {
        "hosts": options.hosts_from(hosts), "requests_per_hour": requests_per_hour,
        "burst_limit": burst, "min_delay_seconds": min_delay, "max_delay_seconds": max_delay,
        "concurrency": concurrency, "max_retries": max_retries, "timeout": timeout,
        "respectful_hours": options.hours_from(hours, timezone, slowdown, closed=closed),
        "robots": robots, "user_agent": in_utf8(user_agent) if user_agent else None,
        "headers": options.headers_from(header), "proxy": in_utf8(proxy) if proxy else None,
        "enabled": enabled,
    }  # fmt: skip
    body = options.patch_body(given, reset or [])
    _show(run(_changed_or_made(url, path_of(name), body), doing="Describing it"), as_json=as_json)


def pause(name: NameArgument, as_json: AsJson = False, url: Url = None) -> None:
    """Ask its hosts for nothing until it is resumed; what waits is kept."""
    found = run(ask(url, "POST", f"{path_of(name)}/pause"), doing="Pausing it")
    _tell(found, f"{found['name']} is paused: {_waiting(found)}.", as_json=as_json)


def resume(name: NameArgument, as_json: AsJson = False, url: Url = None) -> None:
    """Go on with a paused source, at its pace."""
    found = run(ask(url, "POST", f"{path_of(name)}/resume"), doing="Resuming it")
    _tell(found, f"{found['name']} goes on: {_waiting(found)}.", as_json=as_json)


def remove(name: NameArgument, as_json: AsJson = False, url: Url = None) -> None:
    """Forget what was said of a source; what waits still waits.

    One that has a section in the file of sources comes back when a process starts: take that out.
    """
    gone = run(ask(url, "DELETE", path_of(name)), doing="Forgetting it")
    _tell(gone, gone["message"], as_json=as_json)


def apply(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="As sources.toml.")],
    as_json: AsJson = False,
    url: Url = None,
) -> None:
    """Describe the sources of a file, as it has them, now.

    Each is put in place of what was said of it before; sources that are not in the file stay.
    The file that CURTSY_SOURCES_FILE names is applied by itself when a process starts.
    """
    from curtsy.config.conversions import policy
    from curtsy.config.sources_file import sections_of

    sections = sections_of(file, policy(settings_for(log_level="WARNING")))
    bodies = {name: said.model_dump(exclude_unset=True) for name, said in sections.items()}
    found = run(_put_all(url, bodies), doing=f"Describing {counted(len(bodies), 'source')}")
    if as_json:
        echo_json({"sources": found})
    elif not found:
        echo(f"{file} describes no sources.")
    else:
        echo("\n".join([f"{counted(len(found), 'source')} described:", *listed(found)]))


async def ask(
    url: str | None, method: str, path: str, *, query: dict[str, Any] | None = None
) -> Any:
    async with open_api(url, list_command=LIST_COMMAND) as api:
        return await api.request(method, path, query=query)


async def _changed_or_made(url: str | None, path: str, body: dict[str, Any]) -> Any:
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
    _tell(found, "" if as_json else page(found), as_json=as_json)


def _tell(found: dict[str, Any], sentence: str, *, as_json: bool) -> None:
    if as_json:
        echo_json(found)
    else:
        echo(sentence)


def _waiting(found: dict[str, Any]) -> str:
    number = counted(found["waiting"], "page", capped=found["waiting_is_capped"])
    return f"{number} {'waits' if number == '1 page' else 'wait'}"


HEADS = ("day", "requests", "smallest gap", "waits honoured", "unchanged", "bytes", "saved",
         "left out")  # fmt: skip


def receipt(
    name: NameArgument,
    days: Annotated[
        int, typer.Option(min=1, max=92, metavar="N", help="How many, today included.")
    ] = 7,
    as_json: AsJson = False,
    url: Url = None,
) -> None:
    """What the site had of us, day by day: proof of good manners.

    In a browser, /sources/NAME/receipt of the API is a page that you can send to the site's owner.
    """
    path = f"{path_of(name)}/receipt"
    found = run(ask(url, "GET", path, query={"days": days}), doing="Looking for it")
    if as_json:
        echo_json(found)
    else:
        echo("\n".join(_page(found)))


def _page(found: dict[str, Any]) -> Iterator[str]:
    yield f"{found['source']} ({', '.join(found['hosts'])})"
    rows = [_cells(day["day"], day) for day in found["days"]]
    yield from table(HEADS, [*rows, _cells("in all", found["total"])])


def _cells(name: str, day: dict[str, Any]) -> tuple[str, ...]:
    gap = day["smallest_gap_seconds"]
    return (
        name, f"{day['requests']:,}", "-" if gap is None else f"{gap:.3f} s",
        f"{day['retry_afters_honoured']:,}", f"{day['not_modified']:,}", f"{day['bytes']:,}",
        f"{day['bytes_saved']:,}", f"{day['robots_refusals']:,}",
    )  # fmt: skip
