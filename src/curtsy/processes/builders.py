"""Builds the parts that several processes share, from the settings."""

from collections.abc import Callable

from curtsy.clock import Clock
from curtsy.config import Settings, milliseconds, whole_policy, worker_settings
from curtsy.jobs import SubmitLimits, Submitter
from curtsy.maintenance.tasks import MaintenanceTasks
from curtsy.politeness.policy import Policy
from curtsy.processes.startup import ready
from curtsy.requests.payloads import PayloadParser
from curtsy.schedules.firer import Firer
from curtsy.schedules.preview.survey import Surveyor
from curtsy.schedules.scheduler import Scheduler
from curtsy.schedules.task_queue import TaskQueue
from curtsy.schedules.ticker import Ticker
from curtsy.scrapers import NAMES
from curtsy.scrapers.registry import OwnScrapers
from curtsy.store import Store


def submitter_for(
    settings: Settings, store: Store, clock: Clock, on_work: Callable[[], None], own: OwnScrapers
) -> Submitter:
    worker = worker_settings(settings)
    return Submitter(
        store=store, clock=clock, on_submitted=on_work, delay_ms=worker.policy.min_delay,
        limits=SubmitLimits(allow=worker.allow, scrapers=NAMES | own.names),
    )  # fmt: skip


def scheduler_for(
    settings: Settings, store: Store, clock: Clock, submitter: Submitter,
    on_work: Callable[[], None],
) -> Scheduler:  # fmt: skip
    payloads = PayloadParser(page_max_age=milliseconds(settings.page_max_age),
                             crawl_cache_ttl=milliseconds(settings.crawl_cache_ttl))  # fmt: skip
    policy = whole_policy(settings)
    maintenance = MaintenanceTasks(store=store, clock=clock, keep_days=settings.result_days,
                                   policy=policy)  # fmt: skip
    return build_scheduler(store=store, submitter=submitter, payloads=payloads,
                           maintenance=maintenance, policy=policy, clock=clock,
                           on_work=on_work)  # fmt: skip


def build_scheduler(
    *, store: Store, clock: Clock, submitter: Submitter, payloads: PayloadParser,
    maintenance: MaintenanceTasks, policy: Policy, on_work: Callable[[], None],
) -> Scheduler:  # fmt: skip
    firer = Firer(clock=clock, limits=submitter.limits, delay_ms=submitter.delay_ms,
                  task_of=payloads, pending=submitter.pending)  # fmt: skip
    tasks = TaskQueue(store=store, tasks=maintenance.by_name())
    return Scheduler(
        firer=firer,
        ticker=Ticker(store=store, clock=clock, firer=firer, tasks=tasks, on_work=on_work),
        surveyor=Surveyor(task_of=payloads, limits=submitter.limits, defaults=policy),
    )


async def run_task(name: str, settings: Settings, *, keep_days: int) -> str:
    """Runs a maintenance task now; returns a sentence about what it did."""
    async with ready(settings, upgrades_sqlite=True) as (store, clock):
        tasks = MaintenanceTasks(store=store, clock=clock, keep_days=keep_days, trusts_clock=True)
        return await tasks.by_name()[name]()
