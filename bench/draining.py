"""The frontier and the flush alone: sources leased, visits taken and flushed, nothing fetched.

The calls, their order and their batches are the worker's; only the HTTP between take and flush is
left out, and each visit comes to a small document of its own.
"""

import secrets
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice

import orjson

from curtsy.clock import DAY, Clock
from curtsy.frontier.batch import Batch, Document, Release, Result, SourceReport
from curtsy.frontier.flush import flush
from curtsy.frontier.lease import Lease, LowWater, lease
from curtsy.frontier.take import TakeRequest, Visit, take
from curtsy.frontier.worker_rows import WorkerRow, leave, register
from curtsy.model.job_states import Band
from curtsy.model.outcome import Fetched
from curtsy.politeness.receipt import Receipt
from curtsy.store import Store
from curtsy.worker.flusher import MOST_RESULTS
from curtsy.worker.lookahead import TAKES_PER_READ
from curtsy.worker.session import LEASE_AT_ONCE
from curtsy.worker.worker_slots import SHARES

CONTENT = b"A few words stand for what was found on the page. " * 6
LEASED_FOR = 3_600_000
EVERYTHING = 2**62
READ_AT_ONCE = 64
"""The most that a lane reads ahead."""


@dataclass(slots=True)
class Quota:
    """The visits that may still be drained, shared by all drainers; leased visits count as used."""

    left: int


class _Lane:
    """The part of a lane that matters here: its position, and whether it has had its share."""

    def __init__(self, lease: Lease, per_lease: int) -> None:
        self.lease = lease
        self.left = per_lease
        self.more = True
        self._after: dict[int, tuple[int, int]] = {}

    def request(self) -> TakeRequest:
        """Requests one more than its share, to know whether visits remain."""
        return TakeRequest(self.lease.source_id, self._after, min(self.left + 1, READ_AT_ONCE))

    def share_of(self, found: list[Visit]) -> list[Visit]:
        visits = found[: self.left]
        self.more = len(found) > len(visits) or (bool(visits) and len(visits) < self.left)
        self.left -= len(visits)
        if visits:
            self._after = {visits[-1].priority: (visits[-1].rank, visits[-1].page_id)}
        return visits

    @property
    def ended(self) -> bool:
        return self.left <= 0 or not self.more


class Drainer:
    """Drains `per_lease` visits of a source before releasing it."""

    def __init__(self, *, store: Store, clock: Clock, quota: Quota, per_lease: int) -> None:
        self._store, self._clock, self._quota = store, clock, quota
        self._per_lease = per_lease
        self._worker = f"w_{secrets.token_hex(6)}"
        self._low_water = LowWater()
        self._results: list[Result] = []
        self._reports: dict[int, SourceReport] = {}

    async def register(self) -> None:
        row = WorkerRow(self._worker, "bench", 0, "bench")
        now = self._clock.now()
        await self._store.write(lambda c: register(c, row, lease_until=now + LEASED_FOR, now=now))

    async def leave(self) -> None:
        await self._store.write(lambda c: leave(c, self._worker, now=self._clock.now()))

    async def run(self) -> int:
        """Drains until the quota or the backlog is empty; returns the number of recorded visits."""
        recorded = 0
        while self._quota.left > 0 and (leases := await self._leases()):
            recorded += await self._visit(leases)
        return recorded

    async def _leases(self) -> list[Lease]:
        """As many sources as one take reads, by as many leases as the worker needs for that."""
        shares = {int(band): max(1, round(LEASE_AT_ONCE * SHARES[band])) for band in Band}
        leases: list[Lease] = []
        while len(leases) < TAKES_PER_READ and self._quota.left > 0:
            most = -(-self._quota.left // self._per_lease)
            wants = {band: min(share, most) for band, share in shares.items()}
            now, version = self._clock.now(), self._clock.version
            found = await self._store.write(
                partial(lease, worker=self._worker, wants=wants, low_water=self._low_water,
                        clock_version=version, now=now)
            )  # fmt: skip
            if not found:
                break
            leases += found
            self._quota.left -= len(found) * self._per_lease
        return leases

    async def _visit(self, leases: list[Lease]) -> int:
        recorded = 0
        lanes = {leased.source_id: _Lane(leased, self._per_lease) for leased in leases}
        while lanes:
            some = [lane.request() for lane in islice(lanes.values(), TAKES_PER_READ)]
            now = self._clock.now()
            taken = await self._store.read(partial(take, requests=some, now=now))
            for source_id, found in taken.items():
                lane = lanes[source_id]
                self._add(lane, lane.share_of(found))
                if lane.ended:
                    self._quota.left += lane.left
                    del lanes[source_id]
                if len(self._results) >= MOST_RESULTS:
                    recorded += await self._flush(MOST_RESULTS)
        return recorded + await self._flush(len(self._results))

    def _add(self, lane: _Lane, visits: list[Visit]) -> None:
        now, leased = self._clock.now(), lane.lease
        self._results += [_result(visit, now) for visit in visits]
        rank = visits[-1].rank if visits else 0
        release = Release(
            more=lane.more, band=leased.band, known_band=leased.band, looks=int(not lane.more)
        )
        self._reports[leased.source_id] = SourceReport(
            source_id=leased.source_id, epoch=leased.epoch, next_fetch_at=now, delay_ms=0,
            ranks=orjson.dumps({"5": [rank, 0]}).decode(), pace='{"rest":0}', paced_at=now,
            receipts=(Receipt(now // DAY, requests=len(visits)),), fail_streak=0,
            failing_since=None, release=release if lane.ended else None,
        )  # fmt: skip

    async def _flush(self, size: int) -> int:
        """Flushes these results; a source is released with the last of its results."""
        results, self._results = self._results[:size], self._results[size:]
        reports = self._reports
        if not reports:
            return 0
        still = {result.visit.source_id for result in self._results}
        self._reports = {i: reports[i] for i in reports if i in still}
        reported = {r.visit.source_id for r in results} | (reports.keys() - still)
        batch = Batch(results, {
            i: replace(reports[i], release=None) if i in still else reports[i] for i in reported
        })  # fmt: skip
        now = self._clock.now()
        flushed = await self._store.write(
            lambda c: flush(c, batch, worker=self._worker, delay_ms=0, now=now)
        )
        if flushed.dropped:
            raise RuntimeError(f"{flushed.dropped} results were dropped: the drain is wrong")
        return flushed.recorded


def _result(visit: Visit, now: int) -> Result:
    outcome = Fetched(status=200, url=visit.url, etag='"1"', wire_bytes=len(CONTENT))
    document = Document(CONTENT, f"hash-of-{visit.page_id}", "text/html", "utf-8", len(CONTENT))
    return Result(visit, outcome, started_at=now, ended_at=now, document=document)
