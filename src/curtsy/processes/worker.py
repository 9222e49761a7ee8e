"""`curtsy worker`: fetches pages until a signal."""

from curtsy.config import Settings, worker_settings
from curtsy.processes.builders import scheduler_for, submitter_for
from curtsy.processes.declarations import Declared, apply
from curtsy.processes.parts import until_stopped
from curtsy.processes.signals import Stop
from curtsy.processes.startup import own_scrapers, ready
from curtsy.store.wakeups import Wakeups
from curtsy.worker import Worker


async def run_worker(settings: Settings) -> None:
    """Runs a worker until a signal; any number of them may run."""
    declared, own = Declared.read(settings), own_scrapers(settings)
    with Stop() as stop:
        async with ready(settings) as (store, clock):
            submitter = submitter_for(settings, store, clock, lambda: None, own)
            scheduler = scheduler_for(settings, store, clock, submitter, lambda: None)
            await apply(settings, declared, store, clock, scheduler.firer.check)
            worker = Worker(store=store, clock=clock, settings=worker_settings(settings, own),
                            on_offer=lambda: wakeups.send())  # fmt: skip
            async with Wakeups(settings.database_url, worker.wake) as wakeups:
                await until_stopped(stop, [worker])
