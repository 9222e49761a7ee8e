"""The engine as one task: it is opened and closed there, whichever task asks for that."""

import asyncio
from typing import Any

from curtsy.config import Settings
from curtsy.processes.local_api import LocalHttp, whole_engine


class RunningEngine:
    """A worker and the API of one database, from `start` to `stop`."""

    def __init__(self, settings: Settings, *, fires_schedules: bool) -> None:
        self._settings, self._fires_schedules = settings, fires_schedules
        self._stopping = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

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

    async def stop(self) -> None:
        """Waits for the requests that are open, and stores their results."""
        self._stopping.set()
        if self._task is not None:
            await asyncio.wait([self._task])
            self._task.result()

    async def _run(self, opened: "asyncio.Future[LocalHttp]") -> None:
        async with whole_engine(
            self._settings, owns_process=False, fires_schedules=self._fires_schedules
        ) as http:
            opened.set_result(http)
            await self._stopping.wait()
