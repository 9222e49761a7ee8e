"""Results gather here and go to the store in one transaction per batch.

A batch that could not be told is told again as it is, whether or not its commit counted: the
flush is idempotent. Nothing else is said meanwhile, and lanes wait when too much is unsaid.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Protocol

from curtsy.batcher import isolate
from curtsy.clock import Clock
from curtsy.errors import StoreAway, StoreFull
from curtsy.frontier.batch import (
    Batch,
    Flushed,
    Release,
    Result,
    SourceReport,
    shift_batch,
    shift_result,
)
from curtsy.frontier.clock_sync import synchronise
from curtsy.frontier.control import store_suspect
from curtsy.frontier.fence import TimeShifted
from curtsy.frontier.flush import flush
from curtsy.frontier.lease import Lease
from curtsy.frontier.take import Visit
from curtsy.logs import logger
from curtsy.store import Store
from curtsy.worker.outcomes import unrecorded

log = logger("worker")

PAUSE = 0.04
"""Seconds between two flushes, so that a batch can gather under load; none when idle."""
ENOUGH = 200
"""So many results are worth a flush at once."""
STARTS_WAIT = 0.2
MOST_RESULTS = 500
MOST_BYTES = 16 * 2**20
"""In one transaction: at most so many results, or documents of so many bytes together."""
MOST_UNSAID = 1_500
MOST_UNSAID_BYTES = 64 * 2**20
"""Holders start nothing more while so much waits to be told."""
AFTER_FAILURE_SECONDS = 0.5


class Holder(Protocol):
    """Who holds a source and hands in its results: a lane."""

    @property
    def lease(self) -> Lease: ...

    def report(self, release: Release | None = None) -> SourceReport:
        """How the source stands now, to be stored with its results."""

    def flushed(self, results: list[Result]) -> None:
        """These results are stored."""

    def lose(self) -> None:
        """The source is no longer this worker's."""


class Flusher:
    """`on_told` is called after each commit, as a hint to whoever follows events; `on_links`
    after one that may have kept links."""

    def __init__(
        self, *, store: Store, clock: Clock, worker: str, delay_ms: int,
        on_commit: Callable[[], None] = lambda: None, on_links: Callable[[], None] = lambda: None,
    ) -> None:  # fmt: skip
        self._store, self._clock, self._worker, self._delay_ms = store, clock, worker, delay_ms
        self._on_commit, self._on_links = on_commit, on_links
        self._results: list[tuple[Holder, Result]] = []
        self._offsets: list[int] = []
        """Of the clock when each result was made: it may jump before they are told."""
        self._unsaid_bytes = 0
        self._started: dict[int, tuple[Holder, Visit]] = {}
        self._releases: dict[int, tuple[Holder, Release, asyncio.Future[None]]] = {}
        self._something = asyncio.Event()
        self._urgent = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()
        self._all_told = asyncio.Event()
        self._all_told.set()
        self.recorded = 0

    def add(self, lane: Holder, result: Result) -> None:
        self._started.pop(result.visit.page_id, None)
        self._results.append((lane, result))
        self._offsets.append(self._clock.offset)
        self._unsaid_bytes += _size(result)
        if len(self._results) >= MOST_UNSAID or self._unsaid_bytes >= MOST_UNSAID_BYTES:
            self._room.clear()
        self._hurry()

    def started(self, lane: Holder, visit: Visit) -> None:
        self._started[visit.page_id] = (lane, visit)
        self._something.set()

    def unstarted(self, visit: Visit) -> None:
        self._started.pop(visit.page_id, None)

    async def release(self, lane: Holder, release: Release) -> None:
        """Give the source back, after everything that was added for it."""
        told: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._releases[lane.lease.source_id] = (lane, release, told)
        self._hurry()
        await told

    async def suspect(self, lane: Holder, visit: Visit) -> bool:
        """Name the page before it is visited, on a source whose owners keep dying."""
        try:
            return await self._store.write(
                lambda c: store_suspect(c, source_id=lane.lease.source_id, page_id=visit.page_id,
                                  worker=self._worker, epoch=lane.lease.epoch)
            )  # fmt: skip
        except (StoreAway, StoreFull) as away:
            log.warning("naming_waits_for_store", reason=str(away))
            await asyncio.sleep(AFTER_FAILURE_SECONDS)
            return False

    def has_room(self) -> bool:
        return self._room.is_set()

    async def room(self) -> None:
        await self._room.wait()

    def _hurry(self) -> None:
        self._all_told.clear()
        self._something.set()
        self._urgent.set()

    async def run(self) -> None:
        while True:
            await self._something.wait()
            if not self._urgent.is_set():
                try:
                    async with asyncio.timeout(STARTS_WAIT):
                        await self._urgent.wait()
                except TimeoutError:
                    pass
            await self.flush_once()
            if len(self._results) < ENOUGH:
                await asyncio.sleep(PAUSE)

    async def drained(self) -> None:
        """Wait until everything added so far was told."""
        await self._all_told.wait()

    async def flush_once(self) -> None:
        self._something.clear()
        self._urgent.clear()
        results = self._take_results()
        started, self._started = self._started, {}
        still = {id(lane) for lane, _result in self._results}
        releases = {i: r for i, r in self._releases.items() if id(r[0]) not in still}
        for source_id in releases:
            del self._releases[source_id]
        if self._results:
            self._hurry()
        batch = self._batch(results, list(started.values()), releases)
        if not batch:
            return
        flushed = await self._tell(batch)
        self._on_commit()
        if any(result.links for _lane, result in results):
            self._on_links()
        if len(self._results) < MOST_UNSAID and self._unsaid_bytes < MOST_UNSAID_BYTES:
            self._room.set()
        self._spread(flushed, results, releases)
        if not self._results and not self._releases:
            self._all_told.set()

    def _take_results(self) -> list[tuple[Holder, Result]]:
        """As many as go into one transaction, in the clock's time of now."""
        number = room = 0
        while number < min(MOST_RESULTS, len(self._results)) and room < MOST_BYTES:
            room += _size(self._results[number][1])
            number += 1
        results, self._results = self._results[:number], self._results[number:]
        offsets, self._offsets = self._offsets[:number], self._offsets[number:]
        self._unsaid_bytes -= room
        return [
            (lane, shift_result(result, self._clock.offset - offset))
            for (lane, result), offset in zip(results, offsets, strict=True)
        ]

    def _batch(
        self,
        results: list[tuple[Holder, Result]],
        started: list[tuple[Holder, Visit]],
        releases: dict[int, tuple[Holder, Release, asyncio.Future[None]]],
    ) -> Batch:
        lanes = {lane.lease.source_id: lane for lane, _ in (*results, *started)}
        reports = {i: lane.report() for i, lane in lanes.items() if i not in releases}
        reports |= {i: lane.report(release) for i, (lane, release, _told) in releases.items()}
        return Batch([r for _lane, r in results], reports, [v.page_id for _lane, v in started])

    async def _tell(self, batch: Batch) -> Flushed:
        """Flushes until the store has it. A result that the store cannot take costs only its
        page, whose visit fails."""

        async def whole(results: Sequence[Result]) -> Flushed:
            return await self._tell_whole(_part(batch, results))

        async def unstorable(result: Result, error: Exception) -> Flushed:
            log.error("flush_refused", url=result.visit.url, exc_info=error)
            part = _part(batch, [result])
            return await self._tell_whole(replace(part, results=[unrecorded(result)]))

        parts = await isolate(batch.results, whole, unstorable)
        return Flushed(
            lost_sources=frozenset().union(*(part.lost_sources for part in parts)),
            recorded=sum(part.recorded for part in parts),
            dropped=sum(part.dropped for part in parts),
        )

    async def _tell_whole(self, batch: Batch) -> Flushed:
        offset = self._clock.offset
        while True:
            work = partial(flush, batch=batch, worker=self._worker, delay_ms=self._delay_ms,
                           now=self._clock.now(), clock_version=self._clock.version)  # fmt: skip
            try:
                return await self._store.write(work)
            except TimeShifted:
                await synchronise(self._store, self._clock)
                batch = shift_batch(batch, self._clock.offset - offset)
                offset = self._clock.offset
            except (StoreAway, StoreFull) as away:
                log.warning("flush_waits_for_store", results=len(batch.results), reason=str(away))
                await asyncio.sleep(AFTER_FAILURE_SECONDS)

    def _spread(
        self,
        flushed: Flushed,
        results: list[tuple[Holder, Result]],
        releases: dict[int, tuple[Holder, Release, asyncio.Future[None]]],
    ) -> None:
        self.recorded += flushed.recorded
        if flushed.dropped:
            log.warning("results_dropped", dropped=flushed.dropped, why="no longer ours or gone")
        by_lane: dict[int, tuple[Holder, list[Result]]] = {}
        for lane, result in results:
            by_lane.setdefault(id(lane), (lane, []))[1].append(result)
        for lane, of_lane in by_lane.values():
            lane.flushed(of_lane)
            if lane.lease.source_id in flushed.lost_sources:
                lane.lose()
        for _lane, _release, told in releases.values():
            if not told.done():
                told.set_result(None)


def _size(result: Result) -> int:
    return len(result.document.content) if result.document is not None else 0


def _part(batch: Batch, results: Sequence[Result]) -> Batch:
    """A part of the batch: its first part also says what started, its last releases sources."""
    if len(results) == len(batch.results):
        return batch
    is_first, is_last = results[0] is batch.results[0], results[-1] is batch.results[-1]
    kept = {i: replace(report, release=None) for i, report in batch.reports.items()}
    return Batch(
        list(results), batch.reports if is_last else kept, batch.started if is_first else []
    )
