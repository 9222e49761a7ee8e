"""The supervisor's side of one worker process."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress

from curtsy.config import Settings

PROGRAM: tuple[str, ...] = ("-m", "curtsy")
_LONGEST_REPORT = 100
_STANDARD_ERROR = 2


def environment_of(settings: Settings) -> dict[str, str]:
    """The environment of a process with these settings. What is not named here comes from the same
    file and environment as that of this process."""
    names = ("worker_processes", "worker_slots", "extract_processes", "db_pool_size", "scrapers")
    return {f"CURTSY_{name.upper()}": str(getattr(settings, name)) for name in names}


class WorkerProcess:
    """`curtsy worker` with its place among the processes of one supervisor. It lives as long as its
    channel is open. Starts at once; raises `OSError` where the machine has no room for it."""

    def __init__(self, place: str, environment: Mapping[str, str]) -> None:
        self._channel, theirs = socket.socketpair()  # no other child inherits ours
        command = [sys.executable, *PROGRAM, "worker", "--place", place]
        try:
            with theirs:
                self._process = subprocess.Popen(  # noqa: S603 - our own program, no shell
                    command, stdin=theirs.fileno(), stdout=_STANDARD_ERROR,
                    env=os.environ | dict(environment),
                )  # fmt: skip
        except BaseException:
            self._channel.close()
            raise
        self._channel.setblocking(False)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def status(self) -> int | None:
        """The exit code; None: it runs; negative: the signal that ended it."""
        return self._process.poll()

    def ask_to_end(self) -> None:
        """Lets its open requests finish, then it ends."""
        with suppress(OSError):
            self._channel.shutdown(socket.SHUT_WR)

    def kill(self) -> None:
        if self.status is None:
            self._process.send_signal(signal.SIGKILL)

    def close(self) -> int:
        """Closes the channel of a process that has ended; returns how many results it reported."""
        with self._channel, suppress(OSError, ValueError):
            return int(self._channel.recv(_LONGEST_REPORT))
        return 0
