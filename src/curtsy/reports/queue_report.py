"""The queue as a whole, in one reading: what waits, who works, how fast it goes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from curtsy.model.jobs import Band
from curtsy.reports.queue import BandQueue, queue
from curtsy.reports.throughput import Throughput, throughput
from curtsy.reports.workers import WorkerStanding, all_workers
from curtsy.store import Connection


@dataclass(frozen=True, slots=True)
class QueueReport:
    at: int
    bands: Mapping[Band, BandQueue]
    live: Sequence[WorkerStanding]
    throughput: Throughput

    @property
    def in_flight(self) -> int:
        return sum(len(worker.in_flight) for worker in self.live)

    @property
    def startable(self) -> int:
        """All that waits for nothing but its turn."""
        return sum(band.waiting + band.due_retries for band in self.bands.values())

    @property
    def capped(self) -> bool:
        return any(band.capped or band.retries_capped for band in self.bands.values())

    @property
    def oldest(self) -> int | None:
        found = (band.oldest for band in self.bands.values())
        return min((at for at in found if at is not None), default=None)


def queue_report(connection: Connection, *, now: int) -> QueueReport:
    live = [worker for worker in all_workers(connection, now=now) if worker.alive]
    busy = [page_id for worker in live for page_id in worker.in_flight]
    return QueueReport(
        at=now,
        bands=queue(connection, in_flight=busy, now=now),
        live=live,
        throughput=throughput(connection, now=now),
    )
