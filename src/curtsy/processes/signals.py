"""Signals: the first one shuts the process down gracefully, the second one ends it at once."""

import asyncio
import os
import signal
from collections.abc import Callable

from curtsy.logs import logger

log = logger("app")

SIGNALS = (signal.SIGTERM, signal.SIGINT)


class Stop:
    """A context manager that handles the signals; `wait` returns after the first one. Calls
    `at_once` before the second one ends the process."""

    def __init__(self, at_once: Callable[[], None] = lambda: None) -> None:
        self._requested, self._at_once = asyncio.Event(), at_once
        self._signalled = False

    def __enter__(self) -> "Stop":
        loop = asyncio.get_running_loop()
        for number in SIGNALS:
            loop.add_signal_handler(number, self._on_signal, number)
        return self

    def __exit__(self, *_: object) -> None:
        loop = asyncio.get_running_loop()
        for number in SIGNALS:
            loop.remove_signal_handler(number)

    def _on_signal(self, number: signal.Signals) -> None:
        if self._signalled:
            log.warning("stopped_at_once", signal=signal.Signals(number).name)
            self._at_once()
            os._exit(128 + number)
        log.info("stopping", signal=signal.Signals(number).name, meaning="again ends it at once")
        self._signalled = True
        self._requested.set()

    @property
    def signalled(self) -> bool:
        """Whether a signal came, and not only a request."""
        return self._signalled

    def request(self) -> None:
        """Shuts the process down as the first signal does; a signal after it is still the first."""
        self._requested.set()

    async def wait(self) -> None:
        await self._requested.wait()
