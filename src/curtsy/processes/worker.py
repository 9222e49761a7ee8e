"""`curtsy worker`: fetches pages until a signal, in one process or in several."""

from curtsy import periodic
from curtsy.clock import Clock
from curtsy.config import Settings, worker_settings
from curtsy.history.steps import HistorySteps
from curtsy.model.worker_places import WorkerPlace
from curtsy.processes.builders import scheduler_for, submitter_for
from curtsy.processes.declarations import Declared, apply
from curtsy.processes.lifeline import Lifeline
from curtsy.processes.parts import until_stopped
from curtsy.processes.restart import Restart
from curtsy.processes.shares import log_remarks, longest_stop, shares
from curtsy.processes.signals import Stop
from curtsy.processes.startup import own_scrapers, ready
from curtsy.processes.supervisor import Supervisor
from curtsy.scrapers.registry import OwnScrapers
from curtsy.store import Store
from curtsy.store.wakeups import Wakeups
from curtsy.worker import Worker


async def run_worker(settings: Settings) -> bool:
    """Runs a worker until a signal, or as many as `worker_processes`; any number of commands may
    run. Returns whether the process is to start again: its memory is above its limit."""
    declared, own = Declared.read(settings), own_scrapers(settings)
    divided = shares(settings)
    log_remarks(settings)
    if len(divided) == 1:
        with Stop() as stop:
            fetching = worker_settings(settings, own)
            restart = Restart(stop, fetching.memory_bytes)
            async with ready(settings) as (store, clock):
                await _apply(settings, declared, own, store, clock)
                worker = Worker(
                    store=store, clock=clock, settings=fetching,
                    on_offer=lambda: wakeups.send(), on_memory=restart.for_memory,
                )  # fmt: skip
                async with Wakeups(settings.database_url, worker.wake) as wakeups:
                    await _until_stopped(stop, worker, store, clock)
        return restart.is_due
    supervisor = Supervisor.of(settings, divided)
    with Stop(supervisor.kill) as stop:
        async with ready(settings) as (store, clock):  # what is wrong is said once, not by each
            await _apply(settings, declared, own, store, clock)
            await until_stopped(stop, store, [supervisor])
    return False


async def run_supervised_worker(settings: Settings, place: WorkerPlace) -> bool:
    """Runs a worker until its supervisor ends it, or itself has ended. The supervisor has applied
    the declared files. Returns whether the process is to start again."""
    own = own_scrapers(settings)
    with Stop() as stop, Lifeline(stop.request, seconds=longest_stop(settings)) as lifeline:
        fetching = worker_settings(settings, own, place=place)
        restart = Restart(stop, fetching.memory_bytes)
        async with ready(settings) as (store, clock):
            worker = Worker(
                store=store, clock=clock, settings=fetching, on_commit=lifeline.committed,
                on_offer=lambda: wakeups.send(), on_memory=restart.for_memory,
            )  # fmt: skip
            lifeline.on_wake = worker.wake
            try:
                async with Wakeups(settings.database_url, worker.wake) as wakeups:
                    await _until_stopped(stop, worker, store, clock)
            finally:
                lifeline.report(worker.recorded)
    return restart.is_due


async def _until_stopped(stop: Stop, worker: Worker, store: Store, clock: Clock) -> None:
    """Counts the worker's last results before it returns."""
    history = HistorySteps(store=store, clock=clock)
    await until_stopped(stop, store, [worker], history.by_name())
    await periodic.once("fold_history", history.fold_all)


async def _apply(
    settings: Settings, declared: Declared, own: OwnScrapers, store: Store, clock: Clock
) -> None:
    submitter = submitter_for(settings, store, clock, lambda: None, own)
    scheduler = scheduler_for(settings, store, clock, submitter, lambda: None)
    await apply(settings, declared, store, clock, scheduler.firer.check)
