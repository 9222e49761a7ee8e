"""`curtsy cleanup` and `curtsy process-dlq`: maintenance tasks that run now, once."""

import sys
from typing import Annotated

import typer

from curtsy.cli.console.api_connection import AsJson
from curtsy.cli.console.database_file import require_file
from curtsy.cli.console.output import echo, echo_json, require_yes
from curtsy.cli.console.runner import run, settings_for
from curtsy.cli.console.text import counted


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
) -> None:  # fmt: skip
    """Delete expired data, old jobs with their pages, and records that sites no longer have.

    Runs the duty `cleanup` once, which deletes at most 1,000 jobs. On a terminal the command asks
    first.
    """
    _run("cleanup", days=days, confirm=not yes, as_json=as_json)


def process_dlq(as_json: AsJson = False) -> None:
    """Retry pages that failed for a passing reason and whose source answers again.

    Runs the duty `dead_letters` once, which retries no page more than three times.
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
