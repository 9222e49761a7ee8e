"""A worker that stays above its memory limit drains, and its process starts anew.

The process executes its own command line again: it keeps its number, its place among the workers of
a supervisor and its terminal, so the restart needs no supervisor, no exit code and no policy of a
container. The new program begins with the memory of a new process.
"""

import os
import sys
from typing import NoReturn

from curtsy.logs import logger
from curtsy.model.counts import megabytes
from curtsy.processes.signals import Stop

log = logger("app")


class Restart:
    """Whether a process is to start anew when its parts have stopped."""

    def __init__(self, stop: Stop, limit: int | None) -> None:
        self._stop, self._limit, self._is_due = stop, limit or 0, False

    def for_memory(self, used: int) -> None:
        """Drains the worker, which then starts again."""
        log.warning("worker_restarts", memory_bytes=used, limit_bytes=self._limit, meaning=(
            f"The worker uses {megabytes(used)}, more than {megabytes(self._limit)} "
            "(WORKER_MEMORY_BYTES): it finishes its open requests and starts again."
        ))  # fmt: skip
        self._is_due = True
        self._stop.request()

    @property
    def is_due(self) -> bool:
        """Not after a signal: then the process is to end."""
        return self._is_due and not self._stop.signalled


def warn_of_memory(limit: int | None, used: int) -> None:
    """For a process that serves the API too, and does not restart by itself."""
    log.warning("memory_above_limit", memory_bytes=used, limit_bytes=limit, meaning=(
        f"This process uses {megabytes(used)}, more than {megabytes(limit or 0)} "
        "(WORKER_MEMORY_BYTES). Nothing is lost. Restart it when it suits, or run its workers in "
        "processes of their own with `curtsy up --processes 2`: those restart by themselves."
    ))  # fmt: skip


def start_again() -> NoReturn:
    """Replaces this program by a new one with the same command line."""
    sys.stdout.flush()
    sys.stderr.flush()
    command = [sys.executable, *sys.orig_argv[1:]]
    os.execv(sys.executable, command)  # noqa: S606 - our own command line, no shell
