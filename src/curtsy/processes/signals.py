"""Signals: the first asks the process to end in order, the second ends it at once."""

import asyncio
import os
import signal

from curtsy.logs import logger

log = logger("app")

SIGNALS = (signal.SIGTERM, signal.SIGINT)


class Stop:
    """Waits for the first signal; entered for as long as the process can end in order."""

    def __init__(self) -> None:
        self._asked = asyncio.Event()

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
        if self._asked.is_set():
            log.warning("stopped_at_once", signal=signal.Signals(number).name)
            os._exit(128 + number)
        log.info("stopping", signal=signal.Signals(number).name, meaning="again ends it at once")
        self._asked.set()

    async def wait(self) -> None:
        await self._asked.wait()
