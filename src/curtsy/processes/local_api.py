"""The API within this process, on the local database, for commands that run without a server."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

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
from curtsy.processes.startup import own_scrapers, ready
from curtsy.scrapers.registry import OwnScrapers
from curtsy.store import Store
from curtsy.store.wakeups import Wakeups
from curtsy.worker import Worker

log = logger("app")

NAME = "local"


@asynccontextmanager
async def local_api(settings: Settings) -> AsyncIterator[httpx.AsyncClient]:
    """Yields a client of the API. Submitted jobs wake the workers of other processes at once."""
    try:
        own = own_scrapers(settings)
    except BadSetting as bad:  # commands that only read jobs need no scrapers
        log.warning("scrapers_not_known", reason=str(bad).partition("\n")[0])
        own = OwnScrapers()
    async with (
        ready(settings, upgrades_sqlite=True) as (store, clock),
        Wakeups(settings.database_url, lambda: None) as wakeups,
        _client(settings, store, clock, wakeups.send, own) as http,
    ):
        yield http


@asynccontextmanager
async def whole_engine(settings: Settings) -> AsyncIterator[httpx.AsyncClient]:
    """Like `local_api`, with a worker that runs until the context ends."""
    described, own = read_sources(settings), own_scrapers(settings)
    async with ready(settings, upgrades_sqlite=True) as (store, clock):
        await apply_sources(settings, described, store, clock)
        worker = Worker(store=store, clock=clock, settings=worker_settings(settings, own))
        async with (
            Wakeups(settings.database_url, worker.wake),
            _client(settings, store, clock, worker.wake, own) as http,
        ):
            history = HistorySteps(store=store, clock=clock)
            running = asyncio.create_task(worker.run())
            steps = [
                asyncio.create_task(periodic.run(*named)) for named in history.by_name().items()
            ]
            try:
                yield http
            finally:
                await worker.stop()
                await running
                for step in steps:
                    step.cancel()
                await periodic.once("fold_history", history.fold_all)


@asynccontextmanager
async def _client(
    settings: Settings, store: Store, clock: Clock, on_work: Callable[[], None], own: OwnScrapers
) -> AsyncIterator[httpx.AsyncClient]:
    submitter = submitter_for(settings, store, clock, on_work, own)
    scheduler = scheduler_for(settings, store, clock, submitter, on_work)
    async with backend_for(settings, store, clock, submitter, scheduler, on_work) as backend:
        access_rules = AccessRules(hosts=frozenset({NAME}), open_access=True)
        transport = httpx.ASGITransport(
            create_app(backend, access_rules), raise_app_exceptions=False
        )
        async with httpx.AsyncClient(transport=transport, base_url=f"http://{NAME}") as http:
            yield http
        await backend.schedules.finish_tasks()  # nobody else would go on with it
