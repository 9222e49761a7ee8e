"""A worker process's end of the channel to its supervisor.

The channel closes when the supervisor asks the process to end, and also when the supervisor is
killed: so no process outlives its supervisor for long. A signal would not do: a terminal and
systemd send theirs to every process of a command, and a second one ends a process at once. Until
then any byte means that new work was stored; the process answers with an empty line after each
commit of results, and with their number when its worker ends: a process that starts again because
of its memory reports several.
"""

import asyncio
import os
import socket
import threading
from collections.abc import Callable
from contextlib import suppress

from curtsy.errors import BadSetting
from curtsy.logs import logger

log = logger("app")

STANDARD_INPUT = 0
_MOST_WAKES = 4_096


class Lifeline:
    """Calls `on_closed` on the event loop when the channel closes, and ends the process if the
    process still runs after `seconds`.

    A thread waits for the channel, so that a process whose event loop hangs ends too.
    """

    def __init__(self, on_closed: Callable[[], None], *, seconds: float) -> None:
        self._on_closed, self._seconds = on_closed, seconds
        self.on_wake: Callable[[], None] = lambda: None
        """Called on the event loop when new work was stored."""
        self._channel = _channel()
        self._left = threading.Event()

    def __enter__(self) -> "Lifeline":
        arguments = (asyncio.get_running_loop(),)
        threading.Thread(target=self._wait, args=arguments, name="lifeline", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._left.set()

    def committed(self) -> None:
        """Tells the supervisor that results were stored."""
        self._send(b"\n")

    def report(self, recorded: int) -> None:
        """Tells the supervisor how many results this process stored."""
        self._send(f"{recorded}\n".encode())

    def _send(self, message: bytes) -> None:
        with suppress(OSError):  # the supervisor is gone, or stands still: it can do without
            self._channel.send(message, socket.MSG_DONTWAIT)

    def _wait(self, loop: asyncio.AbstractEventLoop) -> None:
        with suppress(RuntimeError):  # the loop has ended
            with suppress(OSError):
                while self._channel.recv(_MOST_WAKES):
                    loop.call_soon_threadsafe(lambda: self.on_wake())
            loop.call_soon_threadsafe(self._on_closed)
        if not self._left.wait(self._seconds):
            log.error("ended_at_once", meaning="it did not stop in time after its supervisor's end")
            os._exit(1)


def _channel() -> socket.socket:
    try:
        return socket.socket(fileno=os.dup(STANDARD_INPUT))
    except OSError:
        raise BadSetting("--place is for processes that `curtsy worker` starts itself.") from None
