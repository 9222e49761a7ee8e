"""Starts `curtsy up` in the background, as a process that outlives the terminal."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from curtsy.cli.console.progress import spinner
from curtsy.errors import CurtsyError
from curtsy.privacy import open_private

if TYPE_CHECKING:
    from curtsy.config import Settings

LOG = Path("curtsy.log")
UP_WITHIN_SECONDS = 30.0
POLL_SECONDS = 0.1


class NotUp(CurtsyError):
    code = "not_up"


def start_detached(settings: "Settings") -> dict[str, Any]:
    """Returns the line of JSON that the process prints once it is up.

    Options of this command reach the process as environment variables.
    """
    options = {"API_HOST": settings.api_host, "API_PORT": settings.api_port,
               "WORKER_SLOTS": settings.worker_slots, "SCRAPERS": settings.scrapers,
               "WORKER_PROCESSES": settings.worker_processes}  # fmt: skip
    environment = os.environ | {f"CURTSY_{name}": str(value) for name, value in options.items()}
    try:
        log = os.fdopen(open_private(LOG, os.O_WRONLY | os.O_APPEND), "ab")
    except OSError as error:
        raise NotUp(f"{LOG.absolute()} cannot be written ({error.strerror}).") from None
    with log:
        began = log.tell()
        child = subprocess.Popen(
            [sys.executable, "-m", "curtsy", "up", "--json"], stdin=subprocess.DEVNULL, stdout=log,
            stderr=log, start_new_session=True, env=environment,
        )  # fmt: skip
    try:
        with spinner("Waiting until curtsy is up"):
            return _wait_until_up(child, began)
    except BaseException:
        child.terminate()  # its start was not reported
        raise


def _wait_until_up(child: "subprocess.Popen[bytes]", began: int) -> dict[str, Any]:
    deadline = time.monotonic() + UP_WITHIN_SECONDS
    while time.monotonic() < deadline:
        ended = child.poll() is not None
        lines = LOG.read_bytes()[began:].decode(errors="replace").splitlines()
        for line in lines:
            if line.startswith('{"status":"up"') and line.endswith("}"):
                facts: dict[str, Any] = json.loads(line)
                return facts
        if ended:
            errors = [line for line in lines if line.startswith("curtsy: ")]
            reason = errors[-1].removeprefix("curtsy: ") if errors else None
            raise NotUp(reason or f"curtsy did not start: see {LOG}.")
        time.sleep(POLL_SECONDS)
    raise NotUp(f"curtsy is not up after {UP_WITHIN_SECONDS:g} seconds: see {LOG}.")
