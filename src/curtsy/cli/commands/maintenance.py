"""`curtsy cleanup` and `curtsy process-dlq`: what schedules of duties do, at once."""

import sys
from typing import Annotated

import typer

from curtsy.cli.console.connection import AsJson
from curtsy.cli.console.database_file import require_file
from curtsy.cli.console.output import echo, echo_json, require_yes
from curtsy.cli.console.startup import run, settings_for
from curtsy.cli.console.text import counted


def cleanup(
    days: Annotated[
        int | None,
        typer.Option(
            min=1, max=36_500, metavar="N", help="Older than so many days.",
            show_default="RESULT_DAYS: 30",
        ),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask first.")] = False,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Forget what has expired, old jobs and their pages, and records that sites no longer have.

    As the duty `cleanup` does on a schedule: at most 1,000 jobs at a time. On a terminal you are
    asked first.
    """
    _do("cleanup", days=days, asks=not yes, as_json=as_json)


def process_dlq(as_json: AsJson = False) -> None:
    """Try again what was given up for a passing reason, where its source answers again.

    As the duty `dead_letters` does on a schedule: no page more than three times.
    """
    _do("dead_letters", days=None, asks=False, as_json=as_json)


def _do(duty: str, *, days: int | None, asks: bool, as_json: bool) -> None:
    settings = settings_for(log_level="WARNING")
    require_file(settings)
    keep_days = days or settings.result_days
    if asks and sys.stdin.isatty():
        require_yes(f"Forget jobs that ended more than {counted(keep_days, 'day')} ago?")
    from curtsy.processes.builders import do_now

    did = run(do_now(duty, settings, keep_days=keep_days), doing="At it")
    if as_json:
        echo_json({"message": did})
    else:
        echo(did)
