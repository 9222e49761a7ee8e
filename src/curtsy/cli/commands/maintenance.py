"""`curtsy cleanup` and `curtsy process-dlq`: maintenance tasks that run now, once."""

import asyncio
import sys
from typing import Annotated, Any

import typer

from curtsy.cli.console.api_connection import AsJson, Url, open_api
from curtsy.cli.console.database_file import require_file
from curtsy.cli.console.exit_codes import FAILED
from curtsy.cli.console.output import echo, echo_json, note, require_yes
from curtsy.cli.console.progress import spinner
from curtsy.cli.console.runner import run, settings_for
from curtsy.cli.console.text import counted

POLL_SECONDS = 1.0


def cleanup(
    days: Annotated[
        int | None,
        typer.Option(
            min=1, max=36_500, metavar="N", help="Delete jobs that ended more than N days ago.",
            show_default="RESULT_DAYS: 30",
        ),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask first.")] = False,
    as_json: AsJson = False,
    url: Url = None,
) -> None:  # fmt: skip
    """Delete expired data, old jobs with their pages, and what no job needs any more.

    Runs the maintenance task `cleanup` once, in small steps beside the work; a SQLite file gives
    its free space back. On a terminal the command asks first. With --url the API does it, which
    needs the role admin.
    """
    if url is None:
        _run("cleanup", days=days, confirm=not yes, as_json=as_json)
        return
    if not yes and sys.stdin.isatty():
        older = f"more than {counted(days, 'day')} ago" if days else "longer ago than RESULT_DAYS"
        require_yes(f"Delete jobs at {url} that ended {older}?")
    ended = run(_remote_cleanup(url, days))
    if as_json:
        echo_json(ended)
    elif ended["state"] == "done":
        echo(ended["message"])
    else:
        note(f"curtsy: The cleanup at {url} did not end well: {ended['message']}")
    if ended["state"] != "done":
        raise typer.Exit(FAILED)


async def _remote_cleanup(url: str, days: int | None) -> dict[str, Any]:
    """Starts a cleanup and waits for its end. Whoever stops waiting does not stop the cleanup."""
    async with open_api(url) as api:
        with spinner("Cleaning up"):
            found: dict[str, Any] = await api.request(
                "POST", "/cleanup", body={"days": days} if days else {}
            )
            while found["state"] == "running":
                await asyncio.sleep(POLL_SECONDS)
                found = await api.request("GET", "/cleanup")
        return found


def process_dlq(as_json: AsJson = False) -> None:
    """Retry pages that failed for a passing reason and whose source answers again.

    Runs the maintenance task `dead_letters` once, which retries no page more than three times.
    """
    _run("dead_letters", days=None, confirm=False, as_json=as_json)


def _run(duty: str, *, days: int | None, confirm: bool, as_json: bool) -> None:
    settings = settings_for(log_level="WARNING")
    require_file(settings)
    keep_days = days or settings.result_days
    if confirm and sys.stdin.isatty():
        require_yes(f"Delete jobs that ended more than {counted(keep_days, 'day')} ago?")
    from curtsy.processes.builders import run_task

    message = run(run_task(duty, settings, keep_days=keep_days), doing=f"Running {duty}")
    if as_json:
        echo_json({"message": message})
    else:
        echo(message)
