"""Parts of a process: started together, stopped together."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol

from curtsy import periodic
from curtsy.clock import Clock
from curtsy.frontier.clock_sync import synchronise
from curtsy.processes.schema_watch import SchemaWatch
from curtsy.processes.signals import Stop
from curtsy.store import Store

SYNCHRONISE_EVERY_SECONDS = 5.0


class Part(Protocol):
    """Runs until `stop` is called; `stop` returns once all open work has ended."""

    async def run(self) -> None: ...
    async def stop(self) -> None: ...


async def until_stopped(
    stop: Stop,
    store: Store,
    parts: Sequence[Part],
    steps: Mapping[str, Callable[[], Awaitable[float]]] | None = None,
) -> None:
    """Runs the parts together until a signal. If one part fails, all of them end. Raises
    `WrongSchema` when they ended because the schema no longer works with this program."""
    watch = SchemaWatch(store, stop.request)
    async with asyncio.TaskGroup() as group:
        named = {"watch_schema": watch.step, **(steps or {})}
        loops = [group.create_task(periodic.run(*step)) for step in named.items()]
        for part in parts:
            group.create_task(part.run())
        await stop.wait()
        await asyncio.gather(*(part.stop() for part in parts))
        for task in loops:
            task.cancel()
    watch.check()


async def synchronise_clock(store: Store, clock: Clock) -> float:
    """A periodic step for processes without a worker: a worker's heartbeat does the same."""
    await synchronise(store, clock)
    return SYNCHRONISE_EVERY_SECONDS
