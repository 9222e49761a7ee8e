"""Signals: the first one shuts the process down gracefully, the second one ends it at once."""

import asyncio
import os
import signal

from curtsy.logs import logger

log = logger("app")

SIGNALS = (signal.SIGTERM, signal.SIGINT)


class Stop:
    """A context manager that handles the signals; `wait` returns after the first one."""

    def __init__(self) -> None:
        self._requested = asyncio.Event()

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
        if self._requested.is_set():
            log.warning("stopped_at_once", signal=signal.Signals(number).name)
            os._exit(128 + number)
        log.info("stopping", signal=signal.Signals(number).name, meaning="again ends it at once")
        self._requested.set()

    async def wait(self) -> None:
        await self._requested.wait()
