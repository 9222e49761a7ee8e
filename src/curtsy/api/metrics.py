"""What `GET /metrics` measures, from the same readings as the other screens.

All of it comes from the store, so any API process tells of the whole: ask one of them, not each.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Literal

from curtsy import __version__
from curtsy.clock import SECOND
from curtsy.politeness.policy import Policy
from curtsy.reports.queue import QueueReport, queue_report
from curtsy.reports.throughput import PERCENTILES, percentile
from curtsy.schedules.listing import ScheduleCounts, newest_lags, read_status
from curtsy.schedules.ticker import ALIVE, LATE
from curtsy.sources.source import Source, list_sources
from curtsy.store import Connection

MOST_SOURCES = 500
LAGS_READ = 2_000
LAG_PARTS = (0.5, 0.95, 0.99, 1.0)


@dataclass(slots=True)
class Family:
    """One name, and a value for each set of labels."""

    name: str
    means: str
    kind: Literal["gauge", "counter"] = "gauge"
    samples: list[tuple[Mapping[str, str], float]] = field(default_factory=list)

    def add(self, value: float | None, **labels: str) -> "Family":
        """Of what is not known nothing is said."""
        if value is not None:
            self.samples.append((labels, value))
        return self


@dataclass(frozen=True, slots=True)
class Measures:
    report: QueueReport
    schedules: ScheduleCounts
    lags: Sequence[int]
    """Milliseconds, in order of size."""
    sources: Sequence[Source]


def measure(connection: Connection, defaults: Policy, *, now: int) -> Measures:
    return Measures(
        report=queue_report(connection, now=now),
        schedules=read_status(connection, now=now, alive=ALIVE, late=LATE),
        lags=sorted(newest_lags(connection, now=now, most=LAGS_READ)),
        sources=list_sources(
            connection, defaults, after="", most=MOST_SOURCES, described=True, now=now
        ),
    )


def families(found: Measures) -> Iterator[Family]:
    yield Family("curtsy_build_info", "Which program answers.").add(1, version=__version__)
    yield from chain(
        _of_queue(found.report),
        _of_workers(found.report),
        _of_schedules(found),
        _of_sources(found.sources, found.report.at),
    )


def _of_queue(report: QueueReport) -> Iterator[Family]:
    waiting = Family("curtsy_queue_waiting", "Visits that wait for their turn, up to 10000.")
    due = Family("curtsy_queue_retries_due", "Retries that may start, up to 10000.")
    later = Family("curtsy_queue_retries_later", "Retries for a later moment, up to 10000.")
    capped = Family("curtsy_queue_is_capped", "1: more may wait than was counted.")
    oldest = Family("curtsy_queue_oldest_wait_seconds", "How long the oldest that may start waits.")
    for band, queue in report.bands.items():
        name = band.name.lower()
        waiting.add(queue.waiting, band=name)
        due.add(queue.due_retries, band=name)
        later.add(queue.later_retries, band=name)
        capped.add(queue.capped or queue.retries_capped, band=name)
        waited = 0 if queue.oldest is None else max(0, report.at - queue.oldest)
        oldest.add(waited / SECOND, band=name)
    yield from (waiting, due, later, capped, oldest)


def _of_workers(report: QueueReport) -> Iterator[Family]:
    live, pace = report.live, report.throughput
    yield Family("curtsy_workers", "Workers that live.").add(len(live))
    slots = sum(worker.slots for worker in live)
    yield Family("curtsy_worker_slots", "Requests that may be open at once.").add(slots)
    yield Family("curtsy_in_flight", "Visits that workers are busy with.").add(report.in_flight)
    leases = sum(worker.leases for worker in live)
    yield Family("curtsy_leases", "Sources that workers hold.").add(leases)
    yield Family("curtsy_pages_per_minute", "Pages that ended in the last minute.").add(
        pace.pages_per_minute
    )
    yield Family(
        "curtsy_success_ratio", "Of the newest pages that ended, those that did well."
    ).add(pace.success_rate)
    took = Family("curtsy_fetch_seconds", "What the newest attempts took, by quantile.")
    for part, ms in zip(PERCENTILES, pace.latency or (), strict=False):
        took.add(ms / SECOND, quantile=f"{part:g}")
    yield took


def _of_schedules(found: Measures) -> Iterator[Family]:
    status, lags = found.schedules, found.lags
    yield Family("curtsy_schedulers", "Schedulers that live.").add(status.schedulers)
    schedules = Family("curtsy_schedules", "Schedules, by whether they are enabled.")
    schedules.add(status.enabled, enabled="true")
    yield schedules.add(status.schedules - status.enabled, enabled="false")
    yield Family("curtsy_slots_fired", "Slots that fired in the last hour.").add(status.fired)
    yield Family("curtsy_slots_late", "Of those, the ones late by more than a second.").add(
        status.late
    )
    lag = Family("curtsy_schedule_lag_seconds",
                 f"From a slot to its firing, by quantile, of the newest {LAGS_READ} "
                 "that fired in the last hour.")  # fmt: skip
    for part in LAG_PARTS if lags else ():
        lag.add(percentile(lags, part) / SECOND, quantile=f"{part:g}")
    yield lag


def _of_sources(sources: Sequence[Source], now: int) -> Iterator[Family]:
    """Those that somebody described: what there is to be named without bound is not."""
    waiting = Family("curtsy_source_waiting", "Visits of the source that wait; counted to a cap.")
    paused = Family("curtsy_source_paused", "1: the source is paused.")
    resting = Family("curtsy_source_rest_seconds", "How long the source still rests after trouble.")
    limit = Family("curtsy_source_hourly_limit", "Requests that an hour may have.")
    used = Family("curtsy_source_hourly_used", "Requests in the last 60 minutes.")
    part = Family("curtsy_source_utilisation_ratio", "The used part of the hour's limit.")
    requests = Family("curtsy_source_requests_total", "Requests since midnight, UTC.", "counter")
    refused = Family("curtsy_source_robots_refusals_total",
                     "Pages left out by robots.txt since midnight, UTC.", "counter")  # fmt: skip
    received = Family("curtsy_source_bytes_total", "Bytes since midnight, UTC.", "counter")
    for source in sources:
        name = source.row.name
        waiting.add(source.waiting, source=name)
        paused.add(bool(source.row.paused), source=name)
        resting.add(max(0, (source.rests_until(now) or now) - now) / SECOND, source=name)
        if source.used is not None:
            allowed = source.policy.requests_per_hour
            limit.add(allowed, source=name)
            used.add(source.used, source=name)
            part.add(source.used / allowed, source=name)
        today = source.today
        requests.add(today.requests if today else 0, source=name)
        refused.add(today.robots_refusals if today else 0, source=name)
        received.add(today.bytes if today else 0, source=name)
    yield from (waiting, paused, resting, limit, used, part, requests, refused, received)


MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_IN_LABELS = str.maketrans({"\\": r"\\", "\n": r"\n", '"': r"\""})


def exposition(families: Iterable[Family]) -> str:
    return "".join(line + "\n" for family in families for line in _lines(family))


def _lines(family: Family) -> Iterator[str]:
    if not family.samples:
        return
    yield f"# HELP {family.name} {family.means}"
    yield f"# TYPE {family.name} {family.kind}"
    for labels, value in family.samples:
        told = ",".join(f'{k}="{v.translate(_IN_LABELS)}"' for k, v in labels.items())
        yield f"{family.name}{{{told}}} {+value}" if told else f"{family.name} {+value}"
