"""What happened in the last hours, in figures."""

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel

from curtsy.api.schemas.queue import Bands, bands_of
from curtsy.api.stats import Stats
from curtsy.clock import SECOND, rfc3339
from curtsy.history.histogram import Histogram
from curtsy.history.totals import Point, SourceTotals, Totals
from curtsy.jobs.dead_letters import Group
from curtsy.reports.site_runs import SiteRuns
from curtsy.reports.throughput import percentile
from curtsy.reports.workers import WorkerStatus


class Quantiles(BaseModel):
    """Milliseconds, from counts in fixed buckets: exact to about a quarter of the figure."""

    p50: int
    p95: int
    p99: int
    mean: int
    number: int
    """How many attempts were measured."""


class Figures(BaseModel):
    """What happened in a period."""

    requests: int
    """For pages; those for robots.txt do not count."""
    attempts: dict[str, int]
    """Requests by outcome: fetched, not_modified, moved, again, failed."""
    succeeded: int
    """Pages that ended as fetched or not modified."""
    failed: int
    """Pages that were given up, with or without a request."""
    success_rate: float | None
    """Share of successes among these, from 0 to 1; null: no page ended."""
    pages_per_minute: float
    retries: int
    """Failures after which the page waits for another try."""
    bytes: int
    new_dead_letters: int
    failures_by_kind: dict[str, int]
    """Failed requests."""
    retries_by_kind: dict[str, int]
    given_up_by_kind: dict[str, int]
    """Pages given up, by their last failure."""
    fetch_ms: Quantiles | None
    """From the request to the record; null: there were no requests."""
    wait_ms: Quantiles | None
    """From when the page could have been requested to its request."""
    waited_seconds: dict[str, float]
    """All waits of pages together, by reason: capacity (no free slot), politeness (the site's
    pace), closed (its hours), backoff (its rests and the waits for another try)."""


class SourceFigures(Figures):
    source: str | None
    """null: it was deleted."""


class SourcePeriod(BaseModel):
    """Figures by source. They are known by the hour for two days, later by the day."""

    since: str
    until: str
    busiest: list[SourceFigures]
    """Those with most requests."""
    failing: list[SourceFigures]
    """Those with most failed requests."""


class SiteFigures(BaseModel):
    """The runs of a declared site that were created in the period."""

    site: str
    since: str
    """Later than the period's beginning if the site had more than 500 runs: then the newest 500
    are counted."""
    runs: int
    succeeded: int
    partial: int
    failed: int
    cancelled: int
    pages: int
    failed_pages: int
    success_rate: float | None
    """Of pages."""
    mean_seconds: float | None
    """How long its finished runs took."""
    longest_seconds: float | None


class QueueOfSource(BaseModel):
    source: str
    ready: int
    later: int
    """Pages that wait for an instant, mostly for another try."""
    capped: bool
    """True: a number stopped at 1000."""


class Queue(BaseModel):
    """What waits now."""

    bands: Bands
    in_flight: int
    sources: list[QueueOfSource]
    """The longest, among the sources that are being fetched or could be, and those of `sources`."""


class LettersOfKind(BaseModel):
    kind: str
    open: int
    capped: bool
    """True: counting stopped at 10,000."""


class LimitUse(BaseModel):
    """An hourly limit of a described source."""

    source: str
    limit: int
    used: int
    """Requests in the last 60 minutes."""
    utilisation: float


class WorkerMemory(BaseModel):
    """A live worker, as of its last heartbeat."""

    worker: str
    machine: str
    memory_bytes: int | None
    """Resident, with its scrapers' processes; null: unknown."""
    in_flight: int


class ScheduleLag(BaseModel):
    """From a slot to its firing."""

    since: str
    """The newest 5000 firings are counted, from here on."""
    fired: int
    p50_seconds: float
    p95_seconds: float
    worst_seconds: float


class SeriesPoint(BaseModel):
    at: str
    """The beginning of its span."""
    requests: int
    succeeded: int
    failed: int
    retries: int
    bytes: int
    success_rate: float | None
    fetch_p95_ms: int | None
    wait_p95_ms: int | None


class Series(BaseModel):
    """The same period in spans of equal length; the last may not be over."""

    span_seconds: int
    points: list[SeriesPoint]


class StatsShown(Figures):
    """What happened in the last hours, and how things stand now."""

    asked_hours: int
    since: str
    """When the history began, or what was asked for; older counts are of whole spans of ten
    minutes, hours or days, and the one that overlaps the beginning counts whole."""
    until: str
    """What was not counted yet is later: seconds, or minutes with thousands of sources."""
    bands: dict[str, Figures]
    """By priority: high (1 to 3), medium (4 to 7), low (8 to 10)."""
    sources: SourcePeriod
    sites: list[SiteFigures]
    """Those that ran last come first."""
    queue: Queue
    dead_letters: list[LettersOfKind]
    """Open ones, by cause."""
    limits: list[LimitUse]
    """The most used first."""
    workers: list[WorkerMemory]
    schedule_lag: ScheduleLag | None
    """null: no slot fired."""
    series: Series


def stats_of(found: Stats) -> StatsShown:
    live = found.queue.live
    return StatsShown(
        **_figures(found.totals),
        asked_hours=found.hours,
        since=rfc3339(found.totals.since),
        until=rfc3339(found.totals.until),
        bands={name: Figures(**_figures(band)) for name, band in found.totals.bands.items()},
        sources=_sources(found),
        sites=[_site(runs) for runs in found.sites],
        queue=Queue(
            bands=bands_of(found.queue),
            in_flight=found.queue.in_flight,
            sources=[QueueOfSource(source=one.name, ready=one.ready, later=one.later,
                                   capped=one.capped) for one in found.queues],
        ),
        dead_letters=[_letters(group) for group in found.letters],
        limits=[LimitUse(source=use.name, limit=use.allowed, used=use.used,
                         utilisation=round(use.used / use.allowed, 3)) for use in found.limits],
        workers=[_worker(worker) for worker in live],
        schedule_lag=_lag(found.lags, found.lags_since),
        series=_series(found.series),
    )  # fmt: skip


def _figures(totals: Totals) -> dict[str, Any]:
    return {
        "requests": totals.requests,
        "attempts": dict(totals.attempts),
        "succeeded": totals.succeeded,
        "failed": totals.failed,
        "success_rate": _share(totals.success_rate),
        "pages_per_minute": round(totals.pages_per_minute, 2),
        "retries": totals.retries,
        "bytes": totals.bytes,
        "new_dead_letters": totals.dead_letters,
        "failures_by_kind": dict(totals.kinds),
        "retries_by_kind": dict(totals.retried_kinds),
        "given_up_by_kind": dict(totals.failed_kinds),
        "fetch_ms": _quantiles(totals.fetch),
        "wait_ms": _quantiles(totals.wait),
        "waited_seconds": {why: ms / SECOND for why, ms in totals.waits.items()},
    }


def _quantiles(histogram: Histogram) -> Quantiles | None:
    p50, p95, p99 = (histogram.quantile(part) for part in (0.5, 0.95, 0.99))
    if p50 is None or p95 is None or p99 is None or histogram.mean is None:
        return None
    return Quantiles(p50=p50, p95=p95, p99=p99, mean=round(histogram.mean),
                     number=histogram.number)  # fmt: skip


def _sources(found: Stats) -> SourcePeriod:
    covered = [source.totals for source in (*found.busiest, *found.failing)]
    return SourcePeriod(
        since=rfc3339(min((t.since for t in covered), default=found.totals.since)),
        until=rfc3339(min((t.until for t in covered), default=found.totals.until)),
        busiest=[_source(source) for source in found.busiest],
        failing=[_source(source) for source in found.failing],
    )


def _source(source: SourceTotals) -> SourceFigures:
    return SourceFigures(source=source.name, **_figures(source.totals))


def _site(runs: SiteRuns) -> SiteFigures:
    return SiteFigures(
        site=runs.name, since=rfc3339(runs.since), runs=runs.runs, succeeded=runs.succeeded,
        partial=runs.in_part, failed=runs.failed, cancelled=runs.cancelled, pages=runs.pages,
        failed_pages=runs.failed_pages, success_rate=_share(runs.success_rate),
        mean_seconds=_seconds(runs.mean_ms), longest_seconds=_seconds(runs.longest_ms),
    )  # fmt: skip


def _letters(group: Group) -> LettersOfKind:
    return LettersOfKind(kind=group.kind, open=group.count.number, capped=group.count.capped)


def _worker(worker: WorkerStatus) -> WorkerMemory:
    return WorkerMemory(worker=worker.id, machine=worker.machine, in_flight=len(worker.in_flight),
                        memory_bytes=worker.memory_bytes)  # fmt: skip


def _lag(lags: Sequence[int], since: int) -> ScheduleLag | None:
    if not lags:
        return None
    return ScheduleLag(
        since=rfc3339(since), fired=len(lags), p50_seconds=percentile(lags, 0.5) / SECOND,
        p95_seconds=percentile(lags, 0.95) / SECOND, worst_seconds=lags[-1] / SECOND,
    )  # fmt: skip


def _series(points: Sequence[Point]) -> Series:
    return Series(
        span_seconds=points[0].span_ms // SECOND if points else 0,
        points=[_point(point) for point in points],
    )


def _point(point: Point) -> SeriesPoint:
    totals = point.totals
    return SeriesPoint(
        at=rfc3339(point.at), requests=totals.requests, succeeded=totals.succeeded,
        failed=totals.failed, retries=totals.retries, bytes=totals.bytes,
        success_rate=_share(totals.success_rate), fetch_p95_ms=totals.fetch.quantile(0.95),
        wait_p95_ms=totals.wait.quantile(0.95),
    )  # fmt: skip


def _share(rate: float | None) -> float | None:
    return None if rate is None else round(rate, 4)


def _seconds(ms: int | None) -> float | None:
    return None if ms is None else ms / SECOND
