"""`curtsy health` and `curtsy metrics`: whether the system works, and the queue in figures; what
happened in the last hours."""

from typing import Annotated, Any

import typer

from curtsy.cli.console.api_connection import AsJson, Url, open_api
from curtsy.cli.console.exit_codes import FAILED
from curtsy.cli.console.output import echo, echo_json
from curtsy.cli.console.runner import run, settings_for
from curtsy.cli.console.table import facts, table
from curtsy.cli.console.text import span
from curtsy.cli.views import stats

EVERYWHERE = ("0.0.0.0", "::")  # noqa: S104 - an API that listens there also does on loopback
HEADINGS = ("band", "waiting", "retries due", "later", "oldest waits")


Ready = Annotated[
    bool,
    typer.Option(
        "--ready",
        help="Only ask the API, by default the one of this machine, whether it can serve: no "
        "worker and no key is needed. For the health check of a container or a proxy.",
    ),
]


def health(ready: Ready = False, as_json: AsJson = False, url: Url = None) -> None:
    """Show `ok`, or `degraded` with exit code 1 if no worker is up or the database is away."""
    if ready:
        found = run(_answer(url or _own_address()), doing="Asking the API")
        found["status"] = "ok" if found["store"] == "ok" else "degraded"
    else:
        found = run(_health(url), doing="Reading the health")
    if as_json:
        echo_json(found)
    else:
        echo("\n".join(facts(found)))
    if found["status"] != "ok":
        raise typer.Exit(FAILED)


def _own_address() -> str:
    """Returns where the API of this machine listens by the settings."""
    settings = settings_for(log_level="WARNING")
    host = "127.0.0.1" if settings.api_host in EVERYWHERE else settings.api_host
    return f"http://{f'[{host}]' if ':' in host else host}:{settings.api_port}"


async def _answer(url: str) -> dict[str, Any]:
    async with open_api(url) as api:
        whole = await api.health()
        return {name: whole[name] for name in ("status", "store", "workers", "version")}


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
        typer.Option(min=1, max=8_760, metavar="N", help="Show the last N hours instead."),
    ] = None,
    as_json: AsJson = False,
    url: Url = None,
) -> None:
    """Show the queue in figures: waiting pages by band, workers, pages per minute, latency.

    With --hours, show what happened: success rate, durations and waits, retries and failures by
    kind, by source and by site, and the use of limits and memory.
    """
    if hours is not None:
        found = run(_stats(url, hours), doing="Counting")
        if as_json:
            echo_json(found)
        else:
            echo("\n".join(stats.page(found)))
        return
    found = run(_queue(url), doing="Counting")
    if as_json:
        echo_json(found)
    else:
        echo("\n".join(_page(found)))


async def _stats(url: str | None, hours: int) -> dict[str, Any]:
    async with open_api(url) as api:
        found: dict[str, Any] = await api.request("GET", "/stats", query={"hours": hours})
        return found


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
