"""`curtsy worker`: fetches pages until a signal, in one process or in several."""

from curtsy.clock import Clock
from curtsy.config import Settings, worker_settings
from curtsy.model.worker_places import WorkerPlace
from curtsy.processes.builders import scheduler_for, submitter_for
from curtsy.processes.declarations import Declared, apply
from curtsy.processes.lifeline import Lifeline
from curtsy.processes.parts import until_stopped
from curtsy.processes.shares import log_remarks, longest_stop, shares
from curtsy.processes.signals import Stop
from curtsy.processes.startup import own_scrapers, ready
from curtsy.processes.supervisor import Supervisor
from curtsy.scrapers.registry import OwnScrapers
from curtsy.store import Store
from curtsy.store.wakeups import Wakeups
from curtsy.worker import Worker


async def run_worker(settings: Settings) -> None:
    """Runs a worker until a signal, or as many as `worker_processes`; any number of commands may
    run."""
    declared, own = Declared.read(settings), own_scrapers(settings)
    divided = shares(settings)
    log_remarks(settings)
    if len(divided) == 1:
        with Stop() as stop:
            async with ready(settings) as (store, clock):
                await _apply(settings, declared, own, store, clock)
                worker = Worker(store=store, clock=clock, settings=worker_settings(settings, own),
                                on_offer=lambda: wakeups.send())  # fmt: skip
                async with Wakeups(settings.database_url, worker.wake) as wakeups:
                    await until_stopped(stop, [worker])
        return
    supervisor = Supervisor.of(settings, divided)
    with Stop(supervisor.kill) as stop:
        async with ready(settings) as (store, clock):  # what is wrong is said once, not by each
            await _apply(settings, declared, own, store, clock)
        await until_stopped(stop, [supervisor])


async def run_supervised_worker(settings: Settings, place: WorkerPlace) -> None:
    """Runs a worker until its supervisor ends it, or itself has ended. The supervisor has applied
    the declared files."""
    own = own_scrapers(settings)
    with Stop() as stop, Lifeline(stop.request, seconds=longest_stop(settings)) as lifeline:
        async with ready(settings) as (store, clock):
            fetching = worker_settings(settings, own, place=place)
            worker = Worker(
                store=store, clock=clock, settings=fetching, on_commit=lifeline.committed,
                on_offer=lambda: wakeups.send(),
            )  # fmt: skip
            lifeline.on_wake = worker.wake
            async with Wakeups(settings.database_url, worker.wake) as wakeups:
                await until_stopped(stop, [worker])
            lifeline.report(worker.recorded)


async def _apply(
    settings: Settings, declared: Declared, own: OwnScrapers, store: Store, clock: Clock
) -> None:
    submitter = submitter_for(settings, store, clock, lambda: None, own)
    scheduler = scheduler_for(settings, store, clock, submitter, lambda: None)
    await apply(settings, declared, store, clock, scheduler.firer.check)
