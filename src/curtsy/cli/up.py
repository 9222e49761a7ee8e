"""`curtsy up` and `curtsy stop`: everything there is to start on one machine, and to end."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from curtsy import __version__
from curtsy.app import run_up, who_is_up
from curtsy.cli.starting import run, settings_for
from curtsy.config import Settings
from curtsy.errors import CurtsyError
from curtsy.operations.examination import Count

Host = Annotated[str | None, typer.Option(help="Address to listen on (CURTSY_API_HOST).")]
Port = Annotated[int | None, typer.Option(help="Port to listen on (CURTSY_API_PORT).")]
Slots = Annotated[int | None, typer.Option(help="Requests open at once (CURTSY_WORKER_SLOTS).")]
Detach = Annotated[bool, typer.Option("--detach", "-d", help="In the background; see curtsy.log.")]

LOG = Path("curtsy.log")
UP_WITHIN_SECONDS = 30.0
SCREEN = """\
curtsy {version} is up.

  API        {url}
  API docs   {url}/docs
  Database   {database}

Try it, in another terminal:

  curl -s -X POST -H 'Content-Type: application/json' \\
       -d '{{"articles": [{{"url": "https://example.com/"}}]}}' {url}/jobs/submit
  curl -s {url}/jobs

{ending}
"""


class NotUp(CurtsyError):
    code = "not_up"


def up(host: Host = None, port: Port = None, slots: Slots = None, detach: Detach = False) -> None:
    """API and worker in one process: all there is to start on one machine."""
    settings = settings_for(api_host=host, api_port=port, worker_slots=slots)
    if detach:
        _detach(settings)
        return
    ending = "Ctrl-C stops it in order; `curtsy stop` does so from elsewhere."
    run(run_up(settings, on_up=lambda url: _say(_screen(settings, url, ending)), on_down=_farewell))


def stop() -> None:
    """End what `curtsy up` started here, in order: open requests may finish, all else is kept."""
    settings = settings_for(log_level="WARNING")
    number = who_is_up(settings)
    if number is None:
        raise NotUp(f"No curtsy is up on {settings.database_url}.")
    os.kill(number, signal.SIGTERM)
    deadline = time.monotonic() + settings.scrape_timeout + settings.extract_seconds + 20
    while who_is_up(settings) == number:
        if time.monotonic() > deadline:
            raise NotUp(f"Process {number} was asked to end and has not ended yet.")
        time.sleep(0.1)
    print(f"Stopped (process {number}).")


def _detach(settings: Settings) -> None:
    """The same again as a process of its own; what it was told goes along as settings."""
    told = {"API_HOST": settings.api_host, "API_PORT": settings.api_port,
            "WORKER_SLOTS": settings.worker_slots}  # fmt: skip
    environment = os.environ | {f"CURTSY_{name}": str(value) for name, value in told.items()}
    with LOG.open("ab") as log:
        began = log.tell()
        child = subprocess.Popen(
            [sys.executable, "-m", "curtsy", "up"], stdin=subprocess.DEVNULL, stdout=log,
            stderr=log, start_new_session=True, env=environment,
        )  # fmt: skip
    deadline = time.monotonic() + UP_WITHIN_SECONDS
    while time.monotonic() < deadline:
        said = LOG.read_bytes()[began:].decode(errors="replace")
        if "Ctrl-C stops it" in said:
            print(said[: said.index("Ctrl-C")] + f"`curtsy stop` ends it; its log is {LOG}.")
            return
        if child.poll() is not None:
            told_last = [line for line in said.splitlines() if line.startswith("curtsy: ")]
            reason = (
                told_last[-1].removeprefix("curtsy: ") if told_last else f"{LOG} has the reason."
            )
            raise NotUp(reason)
        time.sleep(0.1)
    raise NotUp(f"It has not come up within {UP_WITHIN_SECONDS:g} seconds; {LOG} may say why.")


def _screen(settings: Settings, url: str, ending: str) -> str:
    database = settings.database_url.removeprefix("sqlite:///")
    shown = database.rpartition("@")[2] if "@" in database else database  # without a password
    return SCREEN.format(version=__version__, url=url, database=shown, ending=ending)


def _farewell(recorded: int, waiting: Count) -> None:
    still = f"{waiting.number}{'+' if waiting.capped else ''}"
    kept = f"; {still} more wait and go on at the next start" if waiting.number else ""
    _say(f"\nStopped in order. {recorded} results were recorded{kept}.")


def _say(text: str) -> None:
    print(text, flush=True)
