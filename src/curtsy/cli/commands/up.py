"""`curtsy up` and `curtsy stop`: everything there is to start on one machine, and to end."""

import os
import signal
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from curtsy import __version__
from curtsy.cli.console.connection import AsJson
from curtsy.cli.console.detach import LOG, NotUp, start_detached
from curtsy.cli.console.output import echo, echo_json
from curtsy.cli.console.progress import spinner
from curtsy.cli.console.startup import run, settings_for
from curtsy.cli.console.text import counted, program_name

if TYPE_CHECKING:
    from curtsy.config import Settings
    from curtsy.model.counts import Count

Host = Annotated[
    str | None, typer.Option(metavar="ADDRESS", help="Where to listen (CURTSY_API_HOST).")
]
Port = Annotated[
    int | None, typer.Option(metavar="N", help="Port to listen on (CURTSY_API_PORT); 0 is any.")
]
Slots = Annotated[
    int | None, typer.Option(metavar="N", help="Requests open at once (CURTSY_WORKER_SLOTS).")
]
Scrapers = Annotated[
    list[str] | None,
    typer.Option(
        "--scrapers", metavar="FILE",
        help="Python file with scrapers of your own (CURTSY_SCRAPERS); may be repeated.",
    ),
]  # fmt: skip
Detach = Annotated[
    bool, typer.Option("--detach", "-d", help=f"In the background; its log is {LOG}.")
]
STOP_SLACK_SECONDS = 20
SCREEN = """\
curtsy {version} is up.

  API        {url}
  API docs   {url}/docs
  Database   {database}

Try it, in another terminal in this folder:

  {program} submit https://example.com/ --wait
  {program} jobs

or from anywhere:

  curl -s -X POST -H 'Content-Type: application/json' \\
       -d '{{"articles": [{{"url": "https://example.com/"}}]}}' \\
       {url}/jobs/submit

{ending}
"""


def up(
    host: Host = None,
    port: Port = None,
    slots: Slots = None,
    scrapers: Scrapers = None,
    detach: Detach = False,
    as_json: AsJson = False,
) -> None:
    """Start API, worker and scheduler: all there is to start on one machine.

    A SQLite file (`curtsy.db`, or what CURTSY_DATABASE_URL names) is made or brought up to date
    on the way. Ctrl-C stops it in order: open requests may finish, and all that waits is kept.
    With --json it prints a line of JSON when it is up and another when it has stopped.
    """
    settings = settings_for(api_host=host, api_port=port, worker_slots=slots,
                            scrapers=join_paths(scrapers))  # fmt: skip
    if detach:
        facts = start_detached(settings)
        if as_json:
            echo_json(facts | {"log": str(LOG)})
        else:
            echo(_screen(facts, f"`curtsy stop` ends it; its log is {LOG}."))
        return
    from curtsy.processes.up import run_up

    run(
        run_up(
            settings,
            on_up=lambda url: _print_up(settings, url, as_json),
            on_down=lambda recorded, waiting: _print_stopped(recorded, waiting, as_json),
        )
    )


def join_paths(scrapers: list[str] | None) -> str | None:
    """As the setting has them."""
    return ",".join(scrapers) if scrapers else None


def stop(as_json: AsJson = False) -> None:
    """End what `curtsy up` started on the same database.

    Open requests may finish; all that waits is kept and goes on at the next start.
    """
    from curtsy.processes.lock_file import who_is_up

    settings = settings_for(log_level="WARNING")
    number = who_is_up(settings)
    if number is None:
        raise NotUp(
            f"No curtsy is up on {_database(settings)}: go to the folder where it was started."
        )
    try:
        os.kill(number, signal.SIGTERM)
    except PermissionError:
        raise NotUp(f"Process {number} belongs to someone else: ask them to stop it.") from None
    deadline = time.monotonic() + _most_seconds(settings)
    with spinner(f"Process {number} lets open requests finish"):
        while who_is_up(settings) == number:
            if time.monotonic() > deadline:
                raise NotUp(f"Process {number} was asked to end and has not ended yet.")
            time.sleep(0.1)
    if as_json:
        echo_json({"status": "stopped", "process": number})
    else:
        echo(f"Stopped (process {number}).")


def _most_seconds(settings: "Settings") -> float:
    return settings.scrape_timeout + settings.extract_seconds + STOP_SLACK_SECONDS


def _database(settings: "Settings") -> str:
    """Without its password."""
    from curtsy.config.loader import shown

    return shown("database_url", settings.database_url).removeprefix("sqlite:///")


def _print_up(settings: "Settings", url: str, as_json: bool) -> None:
    facts = {"status": "up", "url": url, "docs": f"{url}/docs", "process": os.getpid(),
             "database": _database(settings)}  # fmt: skip
    if as_json:
        echo_json(facts)
    else:
        echo(_screen(facts, "Ctrl-C stops it in order; `curtsy stop` does so from elsewhere."))


def _screen(facts: dict[str, Any], ending: str) -> str:
    return SCREEN.format(version=__version__, program=program_name(), ending=ending, **facts)


def _print_stopped(recorded: int, waiting: "Count", as_json: bool) -> None:
    if as_json:
        echo_json({"status": "stopped", "recorded": recorded, "waiting": waiting.number,
                  "waiting_is_capped": waiting.capped})  # fmt: skip
        return
    still = f"{waiting.number}{'+' if waiting.capped else ''}"
    kept = f"; {still} more wait and go on at the next start" if waiting.number else ""
    echo(f"\nStopped in order: {counted(recorded, 'result')} recorded{kept}.")
