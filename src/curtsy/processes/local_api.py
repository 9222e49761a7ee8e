"""The API within this process, on the local database, for commands that run without a server."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, MutableMapping
from contextlib import asynccontextmanager
from typing import Any

import httpx

from curtsy import periodic
from curtsy.api import create_app
from curtsy.api.auth.access_rules import AccessRules
from curtsy.clock import Clock
from curtsy.config import Settings, read_sources, worker_settings
from curtsy.errors import BadSetting
from curtsy.history.steps import HistorySteps
from curtsy.logs import logger
from curtsy.processes.api import backend_for
from curtsy.processes.builders import scheduler_for, submitter_for
from curtsy.processes.declarations import apply_sources
from curtsy.processes.scheduler import loops_for
from curtsy.processes.startup import own_scrapers, ready
from curtsy.schedules.scheduler import Scheduler
from curtsy.scrapers.registry import OwnScrapers
from curtsy.store import Store
from curtsy.store.wakeups import Wakeups
from curtsy.worker import Worker

log = logger("app")

NAME = "local"


AsgiEvent = MutableMapping[str, Any]
App = Callable[
    [AsgiEvent, Callable[[], Awaitable[AsgiEvent]], Callable[[AsgiEvent], Awaitable[None]]],
    Coroutine[Any, Any, None],
]
"""An ASGI application."""


class LocalHttp(httpx.AsyncClient):
    """A client of the API in this process."""

    def __init__(self, app: App) -> None:
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        super().__init__(transport=transport, base_url=f"http://{NAME}")
        self.app = app


async def no_more_to_do() -> None:
    """For callers that do nothing when the worker has ended."""


@asynccontextmanager
async def local_api(settings: Settings) -> AsyncIterator[LocalHttp]:
    """Yields a client of the API. Submitted jobs wake the workers of other processes at once."""
    try:
        own = own_scrapers(settings)
    except BadSetting as bad:  # commands that only read jobs need no scrapers
        log.warning("scrapers_not_known", reason=str(bad).partition("\n")[0])
        own = OwnScrapers()
    async with (
        ready(settings, upgrades_sqlite=True) as (store, clock),
        Wakeups(settings.database_url, lambda: None) as wakeups,
        _client(settings, store, clock, wakeups.send, own) as (http, _scheduler),
    ):
        yield http


@asynccontextmanager
async def whole_engine(
    settings: Settings, *, owns_process: bool = True, fires_schedules: bool = False,
    on_drained: Callable[[], Awaitable[None]] = no_more_to_do,
) -> AsyncIterator[LocalHttp]:  # fmt: skip
    """Like `local_api`, with a worker that runs until the context ends, and with `fires_schedules`
    what a scheduler does. `on_drained` is called when the last result of the worker is stored."""
    described, own = read_sources(settings), own_scrapers(settings)
    async with ready(settings, upgrades_sqlite=True, owns_process=owns_process) as (store, clock):
        await apply_sources(settings, described, store, clock)
        worker = Worker(store=store, clock=clock, settings=worker_settings(settings, own))
        async with (
            Wakeups(settings.database_url, worker.wake),
            _client(settings, store, clock, worker.wake, own) as (http, scheduler),
        ):
            history = HistorySteps(store=store, clock=clock)
            loops = loops_for(settings, store, clock, scheduler) if fires_schedules else None
            steps = {} if loops else history.by_name()  # a scheduler takes those steps, too
            running = [asyncio.create_task(part.run()) for part in (worker, loops) if part]
            steps_of = [asyncio.create_task(periodic.run(*named)) for named in steps.items()]
            try:
                yield http
            finally:
                for part in (worker, loops):
                    if part is not None:
                        await part.stop()
                await asyncio.gather(*running)
                await on_drained()
                for step in steps_of:
                    step.cancel()
                await periodic.once("fold_history", history.fold_all)


@asynccontextmanager
async def _client(
    settings: Settings, store: Store, clock: Clock, on_work: Callable[[], None], own: OwnScrapers
) -> AsyncIterator[tuple[LocalHttp, Scheduler]]:
    submitter = submitter_for(settings, store, clock, on_work, own)
    scheduler = scheduler_for(settings, store, clock, submitter, on_work)
    async with backend_for(settings, store, clock, submitter, scheduler, on_work) as backend:
        access_rules = AccessRules(hosts=frozenset({NAME}), open_access=True)
        async with LocalHttp(create_app(backend, access_rules)) as http:
            yield http, scheduler
        await backend.schedules.finish_tasks()  # nobody else would go on with it
