"""The supervisor's side of one worker process."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress

from curtsy.config import Settings

PROGRAM: tuple[str, ...] = ("-m", "curtsy")
_STANDARD_ERROR = 2
_MOST_AT_ONCE = 4_096


def environment_of(settings: Settings) -> dict[str, str]:
    """The environment of a process with these settings. What is not named here comes from the same
    file and environment as that of this process."""
    names = ("worker_processes", "worker_slots", "extract_processes", "db_pool_size", "scrapers")
    return {f"CURTSY_{name.upper()}": str(getattr(settings, name)) for name in names}


class WorkerProcess:
    """`curtsy worker` with its place among the processes of one supervisor. It lives as long as its
    channel is open. Starts at once; raises `OSError` where the machine has no room for it."""

    def __init__(
        self, place: str, environment: Mapping[str, str], on_commit: Callable[[], None]
    ) -> None:
        """`on_commit` is called when the process has stored results."""
        self._on_commit, self._received, self._recorded = on_commit, b"", 0
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
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._channel.fileno(), self._receive)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def status(self) -> int | None:
        """The exit code; None: it runs; negative: the signal that ended it."""
        return self._process.poll()

    def wake(self) -> None:
        """Tells the process that new work was stored."""
        with suppress(OSError):  # it has ended, or has not read for long
            self._channel.send(b".")

    def ask_to_end(self) -> None:
        """Lets its open requests finish, then it ends."""
        with suppress(OSError):
            self._channel.shutdown(socket.SHUT_WR)

    def kill(self) -> None:
        if self.status is None:
            self._process.send_signal(signal.SIGKILL)

    def close(self) -> int:
        """Closes the channel of a process that has ended; returns how many results it reported."""
        while self._receive():
            pass
        self._loop.remove_reader(self._channel.fileno())
        self._channel.close()
        return self._recorded

    def _receive(self) -> bool:
        """Reads what the process sent; returns whether there may be more."""
        try:
            data = self._channel.recv(_MOST_AT_ONCE)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if not data:
            self._loop.remove_reader(self._channel.fileno())
            return False
        *lines, self._received = (self._received + data).split(b"\n")
        self._recorded += sum(int(line) for line in lines if line.isdigit())
        if b"" in lines:
            self._on_commit()
        return True
