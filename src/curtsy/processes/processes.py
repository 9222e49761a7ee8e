"""The processes: `api`, `worker`, `scheduler`, and `up`, which is all on one loop."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Protocol

from curtsy import periodic
from curtsy.api.backend import Desk
from curtsy.clock import Clock
from curtsy.config import Settings, milliseconds, whole_policy, worker_settings
from curtsy.errors import StoreAway
from curtsy.frontier.clock_sync import synchronise
from curtsy.jobs import SubmitLimits, Submitter
from curtsy.model.counts import Count
from curtsy.processes.access_rules import entrance_for
from curtsy.processes.declared_files import Declared, apply
from curtsy.processes.http_server import Api, listen, url_of
from curtsy.processes.lock_file import presence
from curtsy.processes.scheduler import Scheduler
from curtsy.processes.signals import Stop
from curtsy.processes.startup import check_folder, own_scrapers, ready
from curtsy.reports.diagnosis import waiting_visits
from curtsy.scrapers import NAMES
from curtsy.scrapers.registry import OwnScrapers
from curtsy.store import Store
from curtsy.store.wakeups import Wakeups
from curtsy.worker import Worker

SYNCHRONISE_EVERY_SECONDS = 5.0


class Part(Protocol):
    """Runs until it is asked to stop; `stop` returns when what was open has ended."""

    async def run(self) -> None: ...
    async def stop(self) -> None: ...


async def serve_api(settings: Settings) -> None:
    """The API alone, until a signal; other processes fetch."""
    declared, own = Declared.read(settings), own_scrapers(settings)
    with Stop() as stop, listen(settings) as listening:
        async with (
            ready(settings) as (store, clock),
            Wakeups(settings.database_url, lambda: desk.feed.wake()) as wakeups,
            desk_for(settings, store, clock, wakeups.send, own) as desk,
        ):
            entrance = await entrance_for(settings, listening, store)
            await apply(settings, declared, store, clock, desk)
            duties = {"keep_time": lambda: _keep_time(store, clock)}
            await _until_stopped(stop, [Api(desk, listening, entrance)], duties)


async def run_worker(settings: Settings) -> None:
    """A worker alone, until a signal."""
    declared, own = Declared.read(settings), own_scrapers(settings)
    with Stop() as stop:
        async with ready(settings) as (store, clock):
            desk = desk_for(settings, store, clock, lambda: None, own)
            await apply(settings, declared, store, clock, desk)
            worker = Worker(store=store, clock=clock, settings=worker_settings(settings, own))
            async with Wakeups(settings.database_url, worker.wake):
                await _until_stopped(stop, [worker])


async def run_scheduler(settings: Settings) -> None:
    """A scheduler alone, until a signal; run as many as you like."""
    declared, own = Declared.read(settings), own_scrapers(settings)
    with Stop() as stop:
        async with (
            ready(settings) as (store, clock),
            Wakeups(settings.database_url, lambda: None) as wakeups,
        ):
            desk = desk_for(settings, store, clock, wakeups.send, own)
            await apply(settings, declared, store, clock, desk)
            scheduler = scheduler_for(settings, store, clock, desk)
            duties = {"keep_time": lambda: _keep_time(store, clock)}
            await _until_stopped(stop, [scheduler], duties)


async def run_up(
    settings: Settings,
    *,
    on_up: Callable[[str], None] = lambda _url: None,
    on_down: Callable[[int, Count], None] = lambda _recorded, _waiting: None,
) -> None:
    """API, worker and scheduler in one process; a SQLite file is made or brought up to date.

    `on_up` is told the API's address; `on_down` how many pages this run recorded and how many
    still wait.
    """
    check_folder(settings.database_url)
    declared, own = Declared.read(settings), own_scrapers(settings)
    with presence(settings), Stop() as stop, listen(settings) as listening:
        async with ready(settings, upgrades_sqlite=True) as (store, clock):
            entrance = await entrance_for(settings, listening, store)
            worker = Worker(store=store, clock=clock, settings=worker_settings(settings, own),
                            on_told=lambda: desk.feed.wake())  # fmt: skip

            def on_work() -> None:
                worker.wake()
                wakeups.send()
                desk.feed.wake()

            def on_wake() -> None:
                worker.wake()
                desk.feed.wake()

            async with (
                desk_for(settings, store, clock, on_work, own) as desk,
                Wakeups(settings.database_url, on_wake) as wakeups,
            ):
                await apply(settings, declared, store, clock, desk)
                on_up(url_of(listening))
                scheduler = scheduler_for(settings, store, clock, desk)
                await _until_stopped(stop, [Api(desk, listening, entrance), worker, scheduler])
                with suppress(StoreAway):  # then nobody can say, and nothing is lost either
                    on_down(worker.recorded, await store.read(waiting_visits))


async def _until_stopped(
    stop: Stop,
    parts: Sequence[Part],
    duties: Mapping[str, Callable[[], Awaitable[float]]] | None = None,
) -> None:
    """Run the parts together. One that fails takes the others down: half a process is none."""
    async with asyncio.TaskGroup() as group:
        kept = [group.create_task(periodic.run(*named)) for named in (duties or {}).items()]
        for part in parts:
            group.create_task(part.run())
        await stop.wait()
        await asyncio.gather(*(part.stop() for part in parts))
        for task in kept:
            task.cancel()


def desk_for(
    settings: Settings, store: Store, clock: Clock, on_work: Callable[[], None], own: OwnScrapers
) -> Desk:
    told = worker_settings(settings)
    submitter = Submitter(
        store=store, clock=clock, on_submitted=on_work, delay_ms=told.policy.min_delay,
        limits=SubmitLimits(allow=told.allow, scrapers=NAMES | own.names),
    )  # fmt: skip
    return Desk(store=store, clock=clock, submitter=submitter, on_work=on_work,
                page_max_age=milliseconds(settings.page_max_age),
                crawl_cache_ttl=milliseconds(settings.crawl_cache_ttl),
                policy=whole_policy(settings), lease_ttl=told.lease_ttl,
                user_agent=settings.user_agent, result_days=settings.result_days,
                sync_timeout=settings.sync_timeout)  # fmt: skip


def scheduler_for(settings: Settings, store: Store, clock: Clock, desk: Desk) -> Scheduler:
    return Scheduler(store=store, clock=clock, ticker=desk.schedules.ticker,
                     run_timeout=milliseconds(settings.run_timeout))  # fmt: skip


async def _keep_time(store: Store, clock: Clock) -> float:
    """Where there is a worker, its heartbeat does this; two at it would disturb each other."""
    await synchronise(store, clock)
    return SYNCHRONISE_EVERY_SECONDS
