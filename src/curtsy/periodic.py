"""A duty is a step that does its work once and says when it wants to run again."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeVar

from curtsy.errors import StoreAway, StoreFull
from curtsy.logs import logger

log = logger("duty")

T = TypeVar("T")

AFTER_FAILURE_SECONDS = 1.0


class Wake:
    """A hint that there is something to do; many hints before a look count as one."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def __call__(self) -> None:
        self._event.set()

    async def wait(self, seconds: float | None) -> None:
        """Until a hint comes, or so long; None waits for the hint alone."""
        if not self._event.is_set():
            if seconds is None:
                await self._event.wait()
            else:
                with suppress(TimeoutError):
                    async with asyncio.timeout(seconds):
                        await self._event.wait()
        self._event.clear()


async def run(name: str, step: Callable[[], Awaitable[float]], wake: Wake | None = None) -> None:
    """Run the step for ever: it returns seconds until the next time; a failure only delays it."""
    wake = wake or Wake()
    while True:
        pause = await once(name, step)
        await wake.wait(AFTER_FAILURE_SECONDS if pause is None else pause)


async def once(name: str, step: Callable[[], Awaitable[T]]) -> T | None:
    """What the step returns; None where it failed, which is logged and harms nothing else."""
    try:
        return await step()
    except (StoreAway, StoreFull) as away:
        log.warning("duty_waits_for_store", duty=name, reason=str(away))
    except Exception:
        log.exception("duty_failed", duty=name)
    return None
