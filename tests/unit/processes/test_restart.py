"""A worker above its memory limit asks for a restart; a signal asks for an end, which wins."""

import asyncio
import os
import signal

from curtsy.processes.restart import Restart
from curtsy.processes.signals import Stop
from support.patience import PATIENCE

LIMIT = 500 * 2**20


async def test_too_much_memory_stops_the_process_and_starts_it_again() -> None:
    with Stop() as stop:
        restart = Restart(stop, LIMIT)
        assert not restart.is_due
        restart.for_memory(LIMIT + 1)
        await stop.wait()
        assert restart.is_due


async def test_a_signal_during_the_drain_ends_it_for_good() -> None:
    with Stop() as stop:
        restart = Restart(stop, LIMIT)
        restart.for_memory(LIMIT + 1)
        os.kill(os.getpid(), signal.SIGTERM)
        async with asyncio.timeout(PATIENCE):
            while not stop.signalled:
                await asyncio.sleep(0)
        assert not restart.is_due


async def test_a_signal_alone_starts_nothing_again() -> None:
    with Stop() as stop:
        restart = Restart(stop, LIMIT)
        os.kill(os.getpid(), signal.SIGTERM)
        await stop.wait()
        assert not restart.is_due
