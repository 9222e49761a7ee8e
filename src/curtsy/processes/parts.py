"""Parts of a process: started together, stopped together."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol

from curtsy import periodic
from curtsy.clock import Clock
from curtsy.frontier.clock_sync import synchronise
from curtsy.processes.signals import Stop
from curtsy.store import Store

SYNCHRONISE_EVERY_SECONDS = 5.0


class Part(Protocol):
    """Runs until it is asked to stop; `stop` returns when what was open has ended."""

    async def run(self) -> None: ...
    async def stop(self) -> None: ...


async def until_stopped(
    stop: Stop,
    parts: Sequence[Part],
    steps: Mapping[str, Callable[[], Awaitable[float]]] | None = None,
) -> None:
    """Run the parts together. One that fails takes the others down: half a process is none."""
    async with asyncio.TaskGroup() as group:
        loops = [group.create_task(periodic.run(*named)) for named in (steps or {}).items()]
        for part in parts:
            group.create_task(part.run())
        await stop.wait()
        await asyncio.gather(*(part.stop() for part in parts))
        for task in loops:
            task.cancel()


async def keep_time(store: Store, clock: Clock) -> float:
    """Synchronises the clock in processes without a worker, whose heartbeat does so."""
    await synchronise(store, clock)
    return SYNCHRONISE_EVERY_SECONDS
