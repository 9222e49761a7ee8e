"""What alert rules may watch: each metric with its unit, its words, and what to do about it."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from curtsy.clock import HOUR, MINUTE, SECOND

LONGEST_FORECAST = 1_000.0
"""Hours until the disk is full; also where the free space does not shrink."""


class Metric(StrEnum):
    SUCCESS_RATE = "success_rate"
    SOURCE_SUCCESS_RATE = "source_success_rate"
    READY_PAGES = "ready_pages"
    WORKER_MEMORY = "worker_memory"
    LIMIT_USE = "limit_use"
    MISSED_SLOTS = "missed_slots"
    SLOTS_WITHOUT_SUCCESS = "slots_without_success"
    RECORDS = "records"
    LIVE_WORKERS = "live_workers"
    FREE_DISK = "free_disk"
    WAL_SIZE = "wal_size"
    DATABASE_SIZE = "database_size"
    HOURS_UNTIL_FULL = "hours_until_full"
    HOSTS_GIVEN_UP = "hosts_given_up"


class Unit(StrEnum):
    PERCENT = "%"
    MEGABYTES = "MB"
    """A million bytes."""
    HOURS = "h"
    NUMBER = ""


@dataclass(frozen=True, slots=True)
class MetricText:
    """The words of a metric."""

    unit: Unit
    phrase: str
    """Names the value in a sentence; `{subject}` and `{window}` are filled in."""
    subject: str | None
    """What one alert is about, such as a source; None: the whole system."""
    to_do: str
    """The first thing to do when it fires; `{subject}` is filled in."""
    has_window: bool = False
    """The value is computed over the rule's window."""
    most: float | None = None
    """The largest value that there can be."""


TEXTS: Mapping[Metric, MetricText] = {
    Metric.SUCCESS_RATE: MetricText(
        Unit.PERCENT, "share of recent pages that succeeded", None,
        "`curtsy dead-letters` groups what failed by cause.", has_window=True, most=100),
    Metric.SOURCE_SUCCESS_RATE: MetricText(
        Unit.PERCENT, "share of recent pages of {subject} that succeeded", "source",
        "`curtsy sources show {subject}` and `curtsy dead-letters` tell the cause.",
        has_window=True, most=100),
    Metric.READY_PAGES: MetricText(
        Unit.NUMBER, "number of pages that could be fetched now but for a free worker", None,
        "Start more workers, or raise WORKER_SLOTS if they have processor time to spare."),
    Metric.WORKER_MEMORY: MetricText(
        Unit.MEGABYTES, "memory of the worker {subject}", "worker",
        "Stop that worker with SIGTERM: it finishes its pages, and others take over. If the memory "
        "grows again, lower EXTRACT_PROCESSES or WORKER_SLOTS."),
    Metric.LIMIT_USE: MetricText(
        Unit.PERCENT, "used part of the hourly limit of {subject}", "source",
        "Nothing is wrong if {subject} is meant to run at its limit. Otherwise schedule less, or "
        "raise requests_per_hour as far as the site allows."),
    Metric.MISSED_SLOTS: MetricText(
        Unit.NUMBER, "number of slots that {subject} missed in the last {window}", "schedule",
        "`curtsy schedules` shows the schedule and why; `curtsy health` whether a scheduler runs.",
        has_window=True),
    Metric.SLOTS_WITHOUT_SUCCESS: MetricText(
        Unit.NUMBER, "number of slots of the site {subject} since its last successful run", "site",
        "`curtsy sites show {subject}` names the last runs; `curtsy why RUN` says what stopped "
        "one."),
    Metric.RECORDS: MetricText(
        Unit.PERCENT, "number of records of the last run of {subject}, of what is usual,", "site",
        "Compare the site with its selectors: `curtsy try` shows what they find now."),
    Metric.LIVE_WORKERS: MetricText(
        Unit.NUMBER, "number of live workers", None,
        "Start one: `curtsy up` or `curtsy worker`."),
    Metric.FREE_DISK: MetricText(
        Unit.MEGABYTES, "free space on the disk of the database", None,
        "`curtsy cleanup --days 7` deletes old results; or enlarge the disk."),
    Metric.WAL_SIZE: MetricText(
        Unit.MEGABYTES, "size of the write-ahead log", None,
        "Look for a transaction or a replication slot that holds it: `curtsy doctor`."),
    Metric.DATABASE_SIZE: MetricText(
        Unit.MEGABYTES, "size of the database", None,
        "`curtsy cleanup --days 7` deletes old results."),
    Metric.HOURS_UNTIL_FULL: MetricText(
        Unit.HOURS, "time until the disk is full, if it fills as in the last hour,", None,
        "`curtsy cleanup --days 7` deletes old results; or enlarge the disk.",
        most=LONGEST_FORECAST),
    Metric.HOSTS_GIVEN_UP: MetricText(
        Unit.NUMBER, "number of hosts of {subject} that were given up", "source",
        "Their pages are dead letters. When the host answers again: "
        "`curtsy dead-letters retry --source {subject}`."),
}  # fmt: skip


def shown(value: float, unit: Unit) -> str:
    """A value for people, such as `62.5 %`."""
    number = f"{value:,.1f}".removesuffix(".0")
    return f"{number} {unit}" if unit else number


def span_shown(span: int) -> str:
    """A span for people, such as `90 minutes`."""
    for size, name in ((HOUR, "hour"), (MINUTE, "minute"), (SECOND, "second")):
        if span >= size and span % size == 0:
            number = span // size
            return name if number == 1 else f"{number} {name}s"
    return f"{span / SECOND:g} seconds"
