"""The metrics of `GET /metrics` in the text format of Prometheus.

All values come from the store and describe the whole system: scrape one API process, not each.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from curtsy import __version__
from curtsy.api.counter_metrics import counter_families
from curtsy.api.exposition import Family
from curtsy.clock import SECOND
from curtsy.history.counters import Counters, counters
from curtsy.jobs.dead_letters import Group, groups
from curtsy.model.failure_kinds import RULES
from curtsy.politeness.policy import Policy
from curtsy.reports.queue import QueueReport, queue_report
from curtsy.reports.ready_pages import ready_pages
from curtsy.reports.throughput import PERCENTILES, percentile
from curtsy.schedules.listing import ScheduleCounts, newest_lags, read_status
from curtsy.schedules.ticker import ALIVE, LATE
from curtsy.sources.source import Source, list_sources
from curtsy.store import Connection
from curtsy.store.space import Space

MOST_SOURCES = 500
MOST_WORKERS = 1_000
LAGS_READ = 2_000
LAG_QUANTILES = (0.5, 0.95, 0.99, 1.0)


@dataclass(frozen=True, slots=True)
class Measures:
    report: QueueReport
    schedules: ScheduleCounts
    lags: Sequence[int]
    """Milliseconds, sorted."""
    sources: Sequence[Source]
    counters: Counters
    letters: Sequence[Group]
    ready_pages: float


def measure(connection: Connection, defaults: Policy, *, now: int) -> Measures:
    return Measures(
        report=queue_report(connection, now=now),
        schedules=read_status(connection, now=now, alive=ALIVE, late=LATE),
        lags=sorted(newest_lags(connection, now=now, most=LAGS_READ)),
        sources=list_sources(
            connection, defaults, after="", most=MOST_SOURCES, described=True, now=now
        ),
        counters=counters(connection, most=MOST_SOURCES),
        letters=groups(connection, kind=None, source=None),
        ready_pages=ready_pages(connection, defaults=defaults, now=now),
    )


def families(found: Measures, space: Space) -> Iterator[Family]:
    yield Family("curtsy_build_info", "The version of curtsy.").add(1, version=__version__)
    yield from chain(
        _of_queue(found.report),
        _of_ready_pages(found.ready_pages),
        _of_workers(found.report),
        _of_schedules(found),
        _of_sources(found.sources, found.report.at),
        counter_families(found.counters),
        _of_letters(found.letters),
        _of_space(space),
    )


def _of_queue(report: QueueReport) -> Iterator[Family]:
    waiting = Family("curtsy_queue_waiting", "Visits that wait, counted up to 10000.")
    due = Family("curtsy_queue_retries_due", "Retries that are due, counted up to 10000.")
    later = Family("curtsy_queue_retries_later", "Retries not due yet, counted up to 10000.")
    capped = Family("curtsy_queue_is_capped", "1: more visits may wait than were counted.")
    oldest = Family("curtsy_queue_oldest_wait_seconds", "Age of the oldest visit that may start.")
    for band, queue in report.bands.items():
        name = band.name.lower()
        waiting.add(queue.waiting, band=name)
        due.add(queue.due_retries, band=name)
        later.add(queue.later_retries, band=name)
        capped.add(queue.capped or queue.retries_capped, band=name)
        waited = 0 if queue.oldest is None else max(0, report.at - queue.oldest)
        oldest.add(waited / SECOND, band=name)
    yield from (waiting, due, later, capped, oldest)


def _of_ready_pages(number: float) -> Iterator[Family]:
    yield Family("curtsy_ready_pages",
                 "Pages that could be fetched now but for a free worker, counted up to a limit."
                 ).add(number)  # fmt: skip


def _of_workers(report: QueueReport) -> Iterator[Family]:
    live, throughput = report.live, report.throughput
    yield Family("curtsy_workers", "Live workers.").add(len(live))
    slots = sum(worker.slots for worker in live)
    yield Family("curtsy_worker_slots", "Requests that may be open at once.").add(slots)
    yield Family("curtsy_in_flight", "Visits in flight.").add(report.in_flight)
    leases = sum(worker.leases for worker in live)
    yield Family("curtsy_leases", "Sources leased by workers.").add(leases)
    memory = Family("curtsy_worker_memory_bytes", "Memory of a worker and its children.")
    for worker in live[:MOST_WORKERS]:
        memory.add(worker.memory_bytes, machine=worker.machine, pid=str(worker.pid))
    yield memory
    yield Family("curtsy_pages_per_minute", "Pages finished in the last minute.").add(
        throughput.pages_per_minute
    )
    yield Family("curtsy_success_ratio", "Share of the newest finished pages that succeeded.").add(
        throughput.success_rate
    )
    latency = Family("curtsy_fetch_seconds", "Duration of the newest attempts, by quantile.")
    for quantile, ms in zip(PERCENTILES, throughput.latency or (), strict=False):
        latency.add(ms / SECOND, quantile=f"{quantile:g}")
    yield latency


def _of_schedules(found: Measures) -> Iterator[Family]:
    status, lags = found.schedules, found.lags
    yield Family("curtsy_schedulers", "Live schedulers.").add(status.schedulers)
    schedules = Family("curtsy_schedules", "Schedules, by whether they are enabled.")
    schedules.add(status.enabled, enabled="true")
    yield schedules.add(status.schedules - status.enabled, enabled="false")
    yield Family("curtsy_slots_fired", "Slots that fired in the last hour.").add(status.fired)
    yield Family("curtsy_slots_late", "Slots of the last hour that fired over a second late.").add(
        status.late
    )
    lag = Family("curtsy_schedule_lag_seconds",
                 f"From a slot to its firing, by quantile, over the newest {LAGS_READ} "
                 "slots that fired in the last hour.")  # fmt: skip
    for quantile in LAG_QUANTILES if lags else ():
        lag.add(percentile(lags, quantile) / SECOND, quantile=f"{quantile:g}")
    yield lag


def _of_sources(sources: Sequence[Source], now: int) -> Iterator[Family]:
    """Only described sources: their number is bounded, that of all sources is not."""
    waiting = Family("curtsy_source_waiting", "Waiting visits of the source, counted up to a cap.")
    paused = Family("curtsy_source_paused", "1: the source is paused.")
    resting = Family("curtsy_source_rest_seconds", "Time until the rest after failures ends.")
    limit = Family("curtsy_source_hourly_limit", "Requests allowed in an hour.")
    used = Family("curtsy_source_hourly_used", "Requests in the last 60 minutes.")
    utilisation = Family("curtsy_source_utilisation_ratio", "Used share of the hourly limit.")
    requests = Family("curtsy_source_requests_total", "Requests since midnight, UTC.", "counter")
    refused = Family("curtsy_source_robots_refusals_total",
                     "Pages refused by robots.txt since midnight, UTC.", "counter")  # fmt: skip
    received = Family("curtsy_source_bytes_total", "Bytes received since midnight, UTC.", "counter")
    for source in sources:
        name = source.row.name
        waiting.add(source.waiting, source=name)
        paused.add(bool(source.row.paused), source=name)
        resting.add(max(0, (source.rests_until(now) or now) - now) / SECOND, source=name)
        if source.used is not None:
            allowed = source.policy.requests_per_hour
            limit.add(allowed, source=name)
            used.add(source.used, source=name)
            utilisation.add(source.used / allowed, source=name)
        today = source.today
        requests.add(today.requests if today else 0, source=name)
        refused.add(today.robots_refusals if today else 0, source=name)
        received.add(today.bytes if today else 0, source=name)
    yield from (waiting, paused, resting, limit, used, utilisation, requests, refused, received)


def _of_letters(letters: Sequence[Group]) -> Iterator[Family]:
    numbers = {group.kind: group.count.number for group in letters}
    family = Family("curtsy_dead_letters_open", "Dead letters, not retried or resolved, by kind.")
    for kind in RULES:
        family.add(numbers.get(kind, 0), kind=kind)
    yield family


def _of_space(space: Space) -> Iterator[Family]:
    yield Family("curtsy_database_bytes", "Size of the database.").add(space.database_bytes)
    yield Family("curtsy_wal_bytes", "Size of the write-ahead log.").add(space.wal_bytes)
    yield Family("curtsy_disk_free_bytes", "Free space on the disk of a SQLite file.").add(
        space.free_bytes
    )
