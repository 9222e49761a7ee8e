"""The engine as one task: it is opened and closed there, whichever task asks for that."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from curtsy.client import AsyncJob, Declined
from curtsy.config import Settings
from curtsy.processes.local_api import LocalHttp, whole_engine


class RunningEngine:
    """A worker and the API of one database, from `start` to `stop`."""

    def __init__(
        self, settings: Settings, *, fires_schedules: bool, is_for_one_call: bool = False
    ) -> None:
        self._settings, self._fires_schedules = settings, fires_schedules
        self._cancels_at_end = is_for_one_call
        self._stopping = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._left: list[AsyncJob] = []

    async def start(self) -> LocalHttp:
        """Returns the API's client once the worker runs. Raises what kept it from starting."""
        opened: asyncio.Future[LocalHttp] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._run(opened))
        ended: set[asyncio.Future[Any]] = {opened, self._task}
        try:
            await asyncio.wait(ended, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            await self.stop()
            raise
        if not opened.done():
            self._task.result()
        return opened.result()

    async def stop(self, before: Callable[[], Awaitable[None]] | None = None) -> None:
        """Waits for the requests that are open, and stores their results. Calls `before` first,
        while the API still answers."""
        self._cancels_at_end = True
        if before is not None:
            await before()
        self._stopping.set()
        if self._task is not None:
            await asyncio.wait([self._task])
            self._task.result()

    async def leave(self, job: AsyncJob) -> None:
        """Cancels the job: at once, or where the engine stops now anyway, after its open requests;
        their results are stored then."""
        if self._task is None or self._task.done():
            return
        if self._cancels_at_end:
            self._left.append(job)
        else:
            await job.cancel()

    async def _cancel_left(self) -> None:
        for job in self._left:
            with suppress(Declined):  # its open request was the last one
                await job.cancel()

    async def _run(self, opened: "asyncio.Future[LocalHttp]") -> None:
        async with whole_engine(
            self._settings, owns_process=False, fires_schedules=self._fires_schedules,
            on_drained=self._cancel_left,
        ) as http:  # fmt: skip
            opened.set_result(http)
            await self._stopping.wait()
