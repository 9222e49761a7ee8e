"""Runs periodic steps: a step does its work once and returns the seconds until its next run."""

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
    """Wakes a waiting step early; several calls before the next wait count as one."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def __call__(self) -> None:
        self._event.set()

    async def wait(self, seconds: float | None) -> None:
        """Waits until woken, at most `seconds`; None: without limit."""
        if not self._event.is_set():
            if seconds is None:
                await self._event.wait()
            else:
                with suppress(TimeoutError):
                    async with asyncio.timeout(seconds):
                        await self._event.wait()
        self._event.clear()


async def run(name: str, step: Callable[[], Awaitable[float]], wake: Wake | None = None) -> None:
    """Runs the step for ever. A failure is logged and only delays the next run."""
    wake = wake or Wake()
    while True:
        pause = await once(name, step)
        await wake.wait(AFTER_FAILURE_SECONDS if pause is None else pause)


async def once(name: str, step: Callable[[], Awaitable[T]]) -> T | None:
    """Runs the step once and returns its result. Logs a failure and returns None."""
    try:
        return await step()
    except (StoreAway, StoreFull) as away:
        log.warning("duty_waits_for_store", duty=name, reason=str(away))
    except Exception:
        log.exception("duty_failed", duty=name)
    return None
