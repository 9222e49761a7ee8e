"""Real schedulers for tests, on a clock that the test may move."""

from collections.abc import Mapping
from typing import Any

from curtsy.clock import DAY, HOUR, Clock
from curtsy.jobs import SubmitLimits, Submitter
from curtsy.jobs.backlog import Backlog
from curtsy.maintenance.cleanup import Cleanup
from curtsy.maintenance.disk_watch import DiskMarks, DiskWatch
from curtsy.maintenance.tasks import MaintenanceTasks
from curtsy.politeness.policy import Policy
from curtsy.processes.builders import build_scheduler
from curtsy.requests.payloads import PayloadParser
from curtsy.schedules.firer import Firer
from curtsy.schedules.lookup import Schedule
from curtsy.schedules.schedule import ScheduleSpec, create
from curtsy.schedules.scheduler import Scheduler
from curtsy.schedules.task_queue import TaskQueue
from curtsy.schedules.ticker import Ticker
from curtsy.store import Store
from curtsy.timetable import Rule

LIMITS = SubmitLimits()


def firer(clock: Clock, limits: SubmitLimits = LIMITS) -> Firer:
    tasks = PayloadParser(page_max_age=DAY, crawl_cache_ttl=DAY)
    return Firer(clock=clock, limits=limits, delay_ms=1_000, task_of=tasks, pending=Backlog(clock))


def scheduler(store: Store, clock: Clock, submitter: Submitter) -> Scheduler:
    return build_scheduler(
        store=store, clock=clock, submitter=submitter,
        payloads=PayloadParser(page_max_age=30 * DAY, crawl_cache_ttl=HOUR),
        maintenance=MaintenanceTasks(store=store, clock=clock, keep_days=30), policy=Policy(),
        on_work=lambda: submitter._on_submitted(),
    )  # fmt: skip


def ticker(store: Store, clock: Clock, limits: SubmitLimits = LIMITS) -> Ticker:
    duties = MaintenanceTasks(store=store, clock=clock, keep_days=30)
    tasks = TaskQueue(store=store, tasks=duties.by_name())
    return Ticker(store=store, clock=clock, firer=firer(clock, limits), tasks=tasks,
                  on_work=lambda: None)  # fmt: skip


def unwatched(store: Store, clock: Clock) -> DiskWatch:
    """A watch to which every disk has room."""
    cleanup = Cleanup(store=store, clock=clock, keep_days=30)
    return DiskWatch(store=store, cleanup=cleanup, marks=DiskMarks(0, 0))


def fetching(url: str = "https://a.example/1") -> Mapping[str, Any]:
    return {"fetch": {"url": url}}


class Hand:
    """A clock that moves only when the test moves it."""

    def __init__(self, at: int) -> None:
        self.at = at
        self.clock = Clock(monotonic=lambda: self.at, wall=lambda: self.at)

    def forward(self, by: int) -> None:
        self.at += by


async def made(store: Store, clock: Clock, rule: Rule, **terms: Any) -> Schedule:
    """Creates a schedule and returns its row."""
    terms.setdefault("name", f"schedule {clock.now()} {len(repr(rule))}")
    terms.setdefault("payload", fetching())
    spec = ScheduleSpec(rule=rule, **terms)
    return await store.write(lambda c: create(c, spec, now=clock.now()))
