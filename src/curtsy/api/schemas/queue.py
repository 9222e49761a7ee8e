"""The queue's figures, per priority band and in total."""

from typing import Literal

from pydantic import BaseModel

from curtsy.clock import SECOND
from curtsy.reports.queue import BandQueue, QueueReport


class BandStatus(BaseModel):
    """The waiting pages of one priority band; pages in flight do not count."""

    waiting: int
    due_retries: int
    """Postponed pages that are due now."""
    later_retries: int
    """Postponed pages that are not due yet."""
    oldest_wait_seconds: float | None
    """Age of the oldest page that could start; null: no page could."""
    capped: bool
    """True: more pages than `waiting` may wait; counting stopped there."""
    retries_capped: bool
    """The same for the retries."""


class Bands(BaseModel):
    high: BandStatus
    """Priorities 1 to 3."""
    medium: BandStatus
    """4 to 7."""
    low: BandStatus
    """8 to 10."""


class Latency(BaseModel):
    """Milliseconds from the start of an attempt to its result."""

    p50: int
    p95: int
    p99: int


class QueueStatus(BaseModel):
    bands: Bands
    in_flight: int
    """Pages that live workers are fetching."""
    workers: int
    """Live workers."""
    pages_per_minute: float
    """Pages that ended in the last minute, successful or not."""
    latency_ms: Latency | None
    """Latency of the newest attempts; null: there are none."""
    attempts: int
    """How many attempts the latency was measured on."""


class QueueHealth(BaseModel):
    """The health of the service and its queue."""

    service: Literal["ok", "degraded"]
    """`degraded`: there is no live worker, so nothing is fetched."""
    database: Literal["ok"] = "ok"
    workers: int
    in_flight: int
    waiting: int
    """Waiting pages of all bands, including retries that are due."""
    waiting_is_capped: bool
    oldest_wait_seconds: float | None
    success_rate: float | None
    """Share of the newest finished pages that succeeded, from 0 to 1; null: there are none."""


def status_of(report: QueueReport) -> QueueStatus:
    throughput = report.throughput
    return QueueStatus(
        bands=bands_of(report),
        in_flight=report.in_flight,
        workers=len(report.live),
        pages_per_minute=round(throughput.pages_per_minute, 1),
        latency_ms=_latency(throughput.latency) if throughput.latency else None,
        attempts=throughput.attempts,
    )


def health_of(report: QueueReport) -> QueueHealth:
    rate = report.throughput.success_rate
    return QueueHealth(
        service="ok" if report.live else "degraded",
        workers=len(report.live),
        in_flight=report.in_flight,
        waiting=report.startable,
        waiting_is_capped=report.capped,
        oldest_wait_seconds=_seconds_since(report.oldest, report.at),
        success_rate=round(rate, 3) if rate is not None else None,
    )


def bands_of(report: QueueReport) -> Bands:
    bands = {band.name.lower(): _band(found, report.at) for band, found in report.bands.items()}
    return Bands(**bands)


def _band(found: BandQueue, now: int) -> BandStatus:
    return BandStatus(
        waiting=found.waiting,
        due_retries=found.due_retries,
        later_retries=found.later_retries,
        oldest_wait_seconds=_seconds_since(found.oldest, now),
        capped=found.capped,
        retries_capped=found.retries_capped,
    )


def _latency(percentiles: tuple[int, ...]) -> Latency:
    p50, p95, p99 = percentiles
    return Latency(p50=p50, p95=p95, p99=p99)


def _seconds_since(moment: int | None, now: int) -> float | None:
    return round(max(0, now - moment) / SECOND, 1) if moment is not None else None
