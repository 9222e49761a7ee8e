"""`curtsy up`: API, worker and scheduler in one process, on one loop; or API and scheduler in one,
and several workers in processes of their own."""

from collections.abc import Callable
from contextlib import suppress
from functools import partial

from curtsy import periodic
from curtsy.clock import Clock
from curtsy.config import Settings, worker_settings
from curtsy.errors import StoreAway
from curtsy.history.steps import HistorySteps
from curtsy.model.counts import Count
from curtsy.processes.alert_loops import alert_loops_for
from curtsy.processes.api import backend_for
from curtsy.processes.api_access import access_rules_for
from curtsy.processes.builders import scheduler_for, submitter_for
from curtsy.processes.declarations import Declared, apply, schedule_maintenance
from curtsy.processes.http_server import Api, listen, url_of
from curtsy.processes.lock_file import hold_lock
from curtsy.processes.parts import synchronise_clock, until_stopped
from curtsy.processes.restart import warn_of_memory
from curtsy.processes.scheduler import loops_for
from curtsy.processes.shares import log_remarks, shares
from curtsy.processes.signals import Stop
from curtsy.processes.startup import check_folder, own_scrapers, ready
from curtsy.processes.supervisor import Supervisor
from curtsy.reports.diagnosis import waiting_visits
from curtsy.scrapers.registry import OwnScrapers
from curtsy.store import Store
from curtsy.store.wakeups import Wakeups
from curtsy.worker import Worker


async def run_up(
    settings: Settings,
    *,
    on_up: Callable[[str], None] = lambda _url: None,
    on_down: Callable[[int, Count], None] = lambda _recorded, _waiting: None,
) -> None:
    """Runs until a signal. Creates or upgrades a SQLite file first.

    `on_up` receives the API's address; `on_down` the number of results that its workers stored, and
    of the visits that still wait.
    """
    check_folder(settings.database_url)
    declared, own = Declared.read(settings), own_scrapers(settings)
    log_remarks(settings)
    supervisor = _supervisor(settings, lambda: backend.feed.wake())
    at_once = supervisor.kill if supervisor else lambda: None
    with hold_lock(settings), Stop(at_once) as stop, listen(settings) as listening:
        async with ready(settings, upgrades_sqlite=True) as (store, clock):
            access_rules = await access_rules_for(settings, listening, store)
            worker = supervisor or _worker(settings, own, store, clock,
                                           on_commit=lambda: backend.feed.wake(),
                                           on_offer=lambda: wakeups.send())  # fmt: skip

            def on_work() -> None:
                wakeups.send()
                worker.wake()
                backend.feed.wake()

            def on_wake() -> None:
                backend.feed.wake()
                if supervisor is None:  # worker processes are woken as this one is
                    worker.wake()

            submitter = submitter_for(settings, store, clock, on_work, own)
            scheduler = scheduler_for(settings, store, clock, submitter, on_work)
            async with (
                backend_for(settings, store, clock, submitter, scheduler, on_work) as backend,
                Wakeups(settings.database_url, on_wake) as wakeups,
            ):
                await apply(settings, declared, store, clock, scheduler.firer.check)
                await schedule_maintenance(store, clock, scheduler.ticker.tasks)
                on_up(url_of(listening))
                loops = loops_for(settings, store, clock, scheduler)
                steps = {"keep_time": lambda: synchronise_clock(store, clock)} if supervisor else {}
                alerts = alert_loops_for(settings, store, clock)
                parts = [Api(backend, listening, access_rules), worker, loops, alerts]
                await until_stopped(stop, store, parts, steps)
                await periodic.once("fold_history", HistorySteps(store=store, clock=clock).fold_all)
                with suppress(StoreAway):  # the numbers are unknown then, but nothing is lost
                    on_down(worker.recorded, await store.read(waiting_visits))


def _supervisor(settings: Settings, on_commit: Callable[[], None]) -> Supervisor | None:
    """Of several workers; None: one runs in this process."""
    divided = shares(settings)
    return Supervisor.of(settings, divided, on_commit=on_commit) if len(divided) > 1 else None


def _worker(
    settings: Settings, own: OwnScrapers, store: Store, clock: Clock, *,
    on_commit: Callable[[], None], on_offer: Callable[[], None],
) -> Worker:  # fmt: skip
    fetching = worker_settings(settings, own)
    return Worker(store=store, clock=clock, settings=fetching, on_commit=on_commit,
                  on_offer=on_offer,
                  on_memory=partial(warn_of_memory, fetching.memory_bytes))  # fmt: skip
