"""The queue in figures, as it is shown."""

from typing import Literal

from pydantic import BaseModel

from curtsy.clock import SECOND
from curtsy.reports.queue import BandQueue, QueueReport


class BandStatus(BaseModel):
    """Pages of one band. Those in flight wait no more."""

    waiting: int
    due_retries: int
    """That were postponed and could start by now."""
    later_retries: int
    """That are postponed to a moment yet to come."""
    oldest_wait_seconds: float | None
    """Since the page was asked for, of those that could start; null when none could."""
    capped: bool
    """A deep backlog: more than `waiting` may wait; it was not counted."""
    retries_capped: bool
    """The same of retries."""


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
    """Pages that live workers are busy with."""
    workers: int
    """That live."""
    pages_per_minute: float
    """That ended in the last minute, well or not."""
    latency_ms: Latency | None
    """Of the newest attempts; null when there are none."""
    attempts: int
    """So many of them were looked at."""


class QueueHealth(BaseModel):
    """The service and its queue: is something wrong, and what?"""

    service: Literal["ok", "degraded"]
    """`degraded`: no worker lives, so nothing is fetched."""
    database: Literal["ok"] = "ok"
    workers: int
    in_flight: int
    waiting: int
    """In all bands, retries that are due included."""
    waiting_is_capped: bool
    oldest_wait_seconds: float | None
    success_rate: float | None
    """Of the newest pages that ended, from 0 to 1; null when there are none."""


def status_of(report: QueueReport) -> QueueStatus:
    speed = report.throughput
    bands = {band.name.lower(): _band(found, report.at) for band, found in report.bands.items()}
    return QueueStatus(
        bands=Bands(**bands),
        in_flight=report.in_flight,
        workers=len(report.live),
        pages_per_minute=round(speed.pages_per_minute, 1),
        latency_ms=_latency(speed.latency) if speed.latency else None,
        attempts=speed.attempts,
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
