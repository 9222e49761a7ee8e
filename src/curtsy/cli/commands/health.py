"""`curtsy health` and `curtsy metrics`: whether the system works, and the queue in figures."""

from typing import Annotated, Any

import typer

from curtsy.cli.commands.not_built import MONITORING, not_built
from curtsy.cli.console.api_connection import AsJson, Url, open_api
from curtsy.cli.console.error_output import NotBuilt
from curtsy.cli.console.exit_codes import FAILED
from curtsy.cli.console.output import echo, echo_json
from curtsy.cli.console.runner import run
from curtsy.cli.console.table import facts, table
from curtsy.cli.console.text import span

HEADINGS = ("band", "waiting", "retries due", "later", "oldest waits")


def health(as_json: AsJson = False, url: Url = None) -> None:
    """Show `ok`, or `degraded` with exit code 1 if no worker is up or the database is away."""
    found = run(_health(url), doing="Reading the health")
    if as_json:
        echo_json(found)
    else:
        echo("\n".join(facts(found)))
    if found["status"] != "ok":
        raise typer.Exit(FAILED)


async def _health(url: str | None) -> dict[str, Any]:
    async with open_api(url) as api:
        whole = await api.health()
        found = {name: whole[name] for name in ("status", "store", "workers", "version")}
        if found["store"] == "ok":
            queue = (await api.request("GET", "/jobs/health"))["data"]
            names = ("in_flight", "waiting", "oldest_wait_seconds", "success_rate")
            found |= {name: queue[name] for name in names}
        return found


def metrics(
    hours: Annotated[
        int | None,
        typer.Option(min=1, max=8_760, metavar="N", help="Period in hours; not built yet."),
    ] = None,
    as_json: AsJson = False,
    url: Url = None,
) -> None:
    """Show the queue in figures: waiting pages by band, workers, pages per minute, latency.

    Exit code 5 with --hours, which is not built yet.
    """
    found = run(_queue(url), doing="Counting")
    if as_json:
        echo_json(found)
    else:
        echo("\n".join(_page(found)))
    if hours is not None:
        raise NotBuilt(not_built(f"A summary of the last {hours} hours", MONITORING))


async def _queue(url: str | None) -> dict[str, Any]:
    async with open_api(url) as api:
        found: dict[str, Any] = (await api.request("GET", "/jobs/queue/status"))["data"]
        return found


def _page(found: dict[str, Any]) -> list[str]:
    latency = found["latency_ms"] or {}
    whole = {name: found[name] for name in ("workers", "in_flight", "pages_per_minute")}
    whole |= {f"latency {name}": f"{ms} ms" for name, ms in latency.items()}
    bands = [_row(name, band) for name, band in found["bands"].items()]
    return [*table(HEADINGS, bands), "", *facts(whole)]


def _row(name: str, band: dict[str, Any]) -> tuple[str, ...]:
    oldest = band["oldest_wait_seconds"]
    more, more_retries = "+" * band["capped"], "+" * band["retries_capped"]
    return (name, f"{band['waiting']}{more}", f"{band['due_retries']}{more_retries}",
            str(band["later_retries"]), "" if oldest is None else span(oldest))  # fmt: skip
