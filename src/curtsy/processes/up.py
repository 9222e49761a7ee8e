"""`curtsy up`: API, worker and scheduler in one process, on one loop; more workers in processes of
their own."""

from collections.abc import Callable
from contextlib import suppress

from curtsy.config import Settings, worker_settings
from curtsy.errors import StoreAway
from curtsy.model.counts import Count
from curtsy.processes.api import backend_for
from curtsy.processes.api_access import access_rules_for
from curtsy.processes.builders import scheduler_for, submitter_for
from curtsy.processes.declarations import Declared, apply
from curtsy.processes.http_server import Api, listen, url_of
from curtsy.processes.lock_file import hold_lock
from curtsy.processes.parts import Part, until_stopped
from curtsy.processes.scheduler import loops_for
from curtsy.processes.shares import log_remarks, place_of, shares
from curtsy.processes.signals import Stop
from curtsy.processes.startup import check_folder, own_scrapers, ready
from curtsy.processes.supervisor import Supervisor
from curtsy.reports.diagnosis import waiting_visits
from curtsy.store.wakeups import Wakeups
from curtsy.worker import Worker


async def run_up(
    settings: Settings,
    *,
    on_up: Callable[[str], None] = lambda _url: None,
    on_down: Callable[[int, Count], None] = lambda _recorded, _waiting: None,
) -> None:
    """Runs until a signal. Creates or upgrades a SQLite file first.

    `on_up` receives the API's address; `on_down` the number of results that its processes
    stored, and of the visits that still wait.
    """
    check_folder(settings.database_url)
    declared, own = Declared.read(settings), own_scrapers(settings)
    first, *others = shares(settings)
    log_remarks(settings)
    supervisor = Supervisor.of(settings, others, first=2)
    place = place_of(1, 1 + len(others)) if others else None
    fetching = worker_settings(first.applied_to(settings), own, place=place)
    with hold_lock(settings), Stop(supervisor.kill) as stop, listen(settings) as listening:
        async with ready(settings, upgrades_sqlite=True) as (store, clock):
            access_rules = await access_rules_for(settings, listening, store)
            worker = Worker(store=store, clock=clock, settings=fetching,
                            on_commit=lambda: backend.feed.wake(),
                            on_offer=lambda: wakeups.send())  # fmt: skip

            def on_work() -> None:
                wakeups.send()
                on_wake()

            def on_wake() -> None:
                worker.wake()
                backend.feed.wake()

            submitter = submitter_for(settings, store, clock, on_work, own)
            scheduler = scheduler_for(settings, store, clock, submitter, on_work)
            async with (
                backend_for(settings, store, clock, submitter, scheduler, on_work) as backend,
                Wakeups(settings.database_url, on_wake) as wakeups,
            ):
                await apply(settings, declared, store, clock, scheduler.firer.check)
                on_up(url_of(listening))
                loops = loops_for(settings, store, clock, scheduler)
                parts: list[Part] = [Api(backend, listening, access_rules), worker, loops]
                await until_stopped(stop, [*parts, supervisor] if others else parts)
                with suppress(StoreAway):  # the numbers are unknown then, but nothing is lost
                    on_down(worker.recorded + supervisor.recorded, await store.read(waiting_visits))
