"""Starts processes: `curtsy up` all of one machine, and `curtsy stop` ends it; `curtsy api`,
`curtsy worker` and `curtsy scheduler` one each, for several machines."""

import os
import signal
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from curtsy import __version__
from curtsy.cli.console.api_connection import AsJson
from curtsy.cli.console.detach import LOG, NotUp, start_detached
from curtsy.cli.console.error_output import WrongUsage
from curtsy.cli.console.output import echo, echo_json
from curtsy.cli.console.progress import spinner
from curtsy.cli.console.runner import run, settings_for
from curtsy.cli.console.text import counted, program_name

if TYPE_CHECKING:
    from curtsy.config import Settings
    from curtsy.model.counts import Count

Host = Annotated[
    str | None, typer.Option(metavar="ADDRESS", help="Address to listen on (CURTSY_API_HOST).")
]
Port = Annotated[
    int | None,
    typer.Option(metavar="N", help="Port to listen on (CURTSY_API_PORT); 0 picks a free one."),
]
Slots = Annotated[
    int | None, typer.Option(metavar="N", help="Maximum of open requests (CURTSY_WORKER_SLOTS).")
]
Processes = Annotated[
    str | None,
    typer.Option(
        metavar="N",
        help="Processes that fetch pages and share the slots (CURTSY_WORKER_PROCESSES), or `auto`: "
        "one for each core.",
    ),
]
Scrapers = Annotated[
    list[str] | None,
    typer.Option(
        "--scrapers", metavar="FILE",
        help="Python file with your own scrapers (CURTSY_SCRAPERS); may be repeated.",
    ),
]  # fmt: skip
Detach = Annotated[
    bool, typer.Option("--detach", "-d", help=f"Run in the background; the log is {LOG}.")
]
STOP_SLACK_SECONDS = 20
SCREEN = """\
curtsy {version} is up.

  API        {url}
  API docs   {url}/docs
  Database   {database}
{workers}
Try it in another terminal, in this folder:

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
    processes: Processes = None,
    scrapers: Scrapers = None,
    detach: Detach = False,
    as_json: AsJson = False,
) -> None:
    """Start the API, a worker and a scheduler in one process.

    With --processes N it runs N workers beside it instead, each in a process of its own. Creates or
    upgrades the SQLite file (`curtsy.db`, or the one in CURTSY_DATABASE_URL). Ctrl-C stops it: open
    requests finish, and waiting pages stay queued. With --json it prints a line of JSON when it is
    up and another when it has stopped.
    """
    settings = settings_for(api_host=host, api_port=port, worker_slots=slots,
                            worker_processes=processes, scrapers=join_paths(scrapers))  # fmt: skip
    if detach:
        facts = start_detached(settings)
        if as_json:
            echo_json(facts | {"log": str(LOG)})
        else:
            echo(_screen(facts, f"Run `curtsy stop` to stop it; its log is {LOG}."))
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
    """The files as the setting CURTSY_SCRAPERS has them."""
    return ",".join(scrapers) if scrapers else None


def stop(as_json: AsJson = False) -> None:
    """Stop the `curtsy up` that runs on the same database.

    Open requests finish; waiting pages stay queued for the next start.
    """
    from curtsy.processes.lock_file import running_process

    settings = settings_for(log_level="WARNING")
    number = running_process(settings)
    if number is None:
        raise NotUp(
            f"No curtsy is up on {_database(settings)}: go to the folder where it was started."
        )
    try:
        os.kill(number, signal.SIGTERM)
    except PermissionError:
        raise NotUp(f"Process {number} belongs to someone else: ask them to stop it.") from None
    deadline = time.monotonic() + _longest_stop(settings)
    with spinner(f"Process {number} lets open requests finish"):
        while running_process(settings) == number:
            if time.monotonic() > deadline:
                raise NotUp(f"Process {number} has not stopped yet; it lets open requests finish.")
            time.sleep(0.1)
    if as_json:
        echo_json({"status": "stopped", "process": number})
    else:
        echo(f"Stopped (process {number}).")


def _longest_stop(settings: "Settings") -> float:
    return settings.scrape_timeout + settings.extract_seconds + STOP_SLACK_SECONDS


def _database(settings: "Settings") -> str:
    """The database's URL or file, without a password."""
    from curtsy.config.loader import shown

    return shown("database_url", settings.database_url).removeprefix("sqlite:///")


def _print_up(settings: "Settings", url: str, as_json: bool) -> None:
    from curtsy.processes.shares import shares

    facts = {"status": "up", "url": url, "docs": f"{url}/docs", "process": os.getpid(),
             "database": _database(settings), "workers": len(shares(settings))}  # fmt: skip
    if as_json:
        echo_json(facts)
    else:
        echo(_screen(facts, "Press Ctrl-C to stop it, or run `curtsy stop` in another terminal."))


def _screen(facts: dict[str, Any], ending: str) -> str:
    several = f"  Workers    {facts['workers']} processes\n" if facts["workers"] > 1 else ""
    return SCREEN.format(version=__version__, program=program_name(), ending=ending,
                         **(facts | {"workers": several}))  # fmt: skip


def _print_stopped(recorded: int, waiting: "Count", as_json: bool) -> None:
    if as_json:
        echo_json({"status": "stopped", "recorded": recorded, "waiting": waiting.number,
                  "waiting_is_capped": waiting.capped})  # fmt: skip
        return
    still = f"{waiting.number}{'+' if waiting.capped else ''}"
    queued = f"; {still} more wait for the next start" if waiting.number else ""
    echo(f"\nStopped: {counted(recorded, 'result')} recorded{queued}.")


def api(host: Host = None, port: Port = None, scrapers: Scrapers = None) -> None:
    """Run the API alone; workers and schedulers run elsewhere.

    It prints only log lines, on stderr; CURTSY_LOG_FORMAT=json prints them as JSON.
    """
    from curtsy.processes.api import serve_api

    run(serve_api(settings_for(api_host=host, api_port=port, scrapers=join_paths(scrapers))))


def worker(
    slots: Slots = None,
    processes: Processes = None,
    scrapers: Scrapers = None,
    place: Annotated[str | None, typer.Option(hidden=True)] = None,
) -> None:
    """Run a worker, which fetches pages; run as many as you like.

    With --processes N one command runs N of them, starts those again that end, and stops them in
    order. A worker whose memory stays above CURTSY_WORKER_MEMORY_BYTES drains and starts again by
    itself. It prints only log lines, on stderr; CURTSY_LOG_FORMAT=json prints them as JSON.
    """
    from curtsy import logs
    from curtsy.model.worker_places import parse_place
    from curtsy.processes.restart import start_again
    from curtsy.processes.worker import run_supervised_worker, run_worker

    settings = settings_for(worker_slots=slots, worker_processes=processes,
                            scrapers=join_paths(scrapers))  # fmt: skip
    if place is None:
        is_due = run(run_worker(settings))
    elif (supervised := parse_place(place)) is None:
        raise WrongUsage("--place is set by `curtsy worker --processes` alone.")
    else:
        logs.add_to_every_line(process=place)
        is_due = run(run_supervised_worker(settings, supervised))
    if is_due:
        start_again()


def scheduler() -> None:
    """Run a scheduler, which starts scheduled jobs; run as many as you like.

    A scheduler also compares the records that runs of sites found, ends runs that take too long,
    and deletes expired data. It prints only log lines, on stderr; CURTSY_LOG_FORMAT=json prints
    them as JSON.
    """
    from curtsy.processes.scheduler import run_scheduler

    run(run_scheduler(settings_for()))
