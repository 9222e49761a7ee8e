"""`Engine`: what it is opened with, and its two faces."""

import asyncio
from collections.abc import Iterable
from types import TracebackType
from typing import TYPE_CHECKING, NoReturn, Self

from curtsy.client import AsyncClient, AsyncJob, Job
from curtsy.client.background_loop import BackgroundLoop
from curtsy.client.client_calls import ClientCalls
from curtsy.client.faces import Blocking
from curtsy.engine.exit_hook import close_at_exit, closed
from curtsy.engine.in_process import InProcessConnection
from curtsy.engine.loops import new_loop
from curtsy.engine.program_settings import Path, Setting, program_settings
from curtsy.engine.running_engine import RunningEngine

__all__ = ["AsyncJob", "AsyncOpenEngine", "Engine", "Job", "OpenEngine"]


class OpenEngine(ClientCalls[Blocking, Job]):
    """An engine that runs: has the methods of `curtsy.Client`."""

    def __init__(self, api: InProcessConnection, loop: BackgroundLoop, run: RunningEngine) -> None:
        super().__init__(api, lambda job_id: Job(api, job_id, loop), loop)
        self._background, self._run = loop, run
        close_at_exit(self, self.close)

    async def _leave(self, job: AsyncJob) -> None:
        await self._run.leave(job)

    @property
    def client(self) -> "OpenEngine":
        """The engine itself, which is a client."""
        return self

    def close(self) -> None:
        """Waits for the requests that are open, and stores their results. What was not fetched
        waits in the database. May be called more than once."""
        closed(self)
        if not self._background.is_closed:
            try:
                self._background.run(self._run.stop(self._background.close_open))
            finally:
                self._background.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class AsyncOpenEngine(AsyncClient):
    """An engine that runs on the program's event loop: has the methods of `curtsy.AsyncClient`."""

    def __init__(self, api: InProcessConnection, run: RunningEngine) -> None:
        super().__init__(api=api)
        self._run = run

    async def _leave(self, job: AsyncJob) -> None:
        await self._run.leave(job)

    @property
    def client(self) -> "AsyncOpenEngine":
        """The engine itself, which is a client."""
        return self

    async def close(self) -> None:
        """Waits for the requests that are open, and stores their results."""
        await self._run.stop()


class Engine:
    """The whole engine in this program: a worker, the API and the schedules of one database.

    `with Engine() as engine:` or `async with Engine() as engine:`; in a notebook, where it is to
    live for several cells, `engine = Engine().open()` and later `engine.close()`. It can be opened
    again and again, several engines may work on one database, and with a service its methods are
    those of a `Client`.
    """

    is_for_one_call = False

    def __init__(
        self, database: Path | None = None, *, scrapers: Iterable[Path] = (),
        fires_schedules: bool = True, **settings: Setting,
    ) -> None:  # fmt: skip
        """`database`: a file, or a URL of PostgreSQL; without one, that of the settings
        (`curtsy.db`). `scrapers`: files with scrapers of your own. `settings`: any setting by its
        name in small letters, such as `min_delay_seconds=2`; they go before the environment."""
        self._database, self._scrapers = database, scrapers
        self._fires_schedules, self._settings = fires_schedules, settings
        self._awaited: list[AsyncOpenEngine] = []
        self._blocking: list[OpenEngine] = []

    def open(self) -> OpenEngine:
        """Starts the engine on a thread with an event loop of its own."""
        running = self._new_run()
        loop = BackgroundLoop(new_loop())
        try:
            http = loop.run(running.start())
        except BaseException:
            loop.close()
            raise
        return OpenEngine(InProcessConnection(http), loop, running)

    def __enter__(self) -> OpenEngine:
        self._blocking.append(self.open())
        return self._blocking[-1]

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._blocking.pop().close()

    async def __aenter__(self) -> AsyncOpenEngine:
        running = await asyncio.to_thread(self._new_run)
        opened = AsyncOpenEngine(InProcessConnection(await running.start()), running)
        self._awaited.append(opened)
        return opened

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._awaited.pop().close()

    def _new_run(self) -> RunningEngine:
        settings = program_settings(self._database, self._scrapers, self._settings)
        return RunningEngine(settings, fires_schedules=self._fires_schedules,
                             is_for_one_call=self.is_for_one_call)  # fmt: skip

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            known = not name.startswith("_") and hasattr(OpenEngine, name)
            hint = (
                " It is not open: write `with curtsy.Engine() as engine:`, or open it with "
                "`engine = curtsy.Engine().open()`."
            )
            raise AttributeError(f"An Engine has no attribute {name!r}.{hint if known else ''}")
