"""Collects results and stores them in one transaction per batch.

A batch that failed is retried unchanged, whether or not its commit succeeded: the flush is
idempotent. No other batch is stored meanwhile, and lanes wait when too many results are pending.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Protocol

from curtsy.batcher import isolate
from curtsy.clock import Clock
from curtsy.errors import StoreAway, StoreFull
from curtsy.events.run_log import log_run_event
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
from curtsy.scrapers import LISTS
from curtsy.store import Store
from curtsy.worker.document_packer import DocumentPacker
from curtsy.worker.outcomes import unrecorded

log = logger("worker")

PAUSE = 0.04
"""Seconds between two flushes, so that batches grow under load; an idle flusher does not wait."""
FLUSH_AT_ONCE_FROM = 200
"""With this many results the next flush starts without a pause."""
STARTS_WAIT = 0.2
MOST_RESULTS = 500
MOST_BYTES = 16 * 2**20
"""Limits of one transaction: results, and bytes of all their documents before compression."""
MOST_PENDING = 1_500
MOST_PENDING_BYTES = 64 * 2**20
"""Lanes start no request while this much waits to be stored."""
AFTER_FAILURE_SECONDS = 0.5


class Holder(Protocol):
    """A lane, as the flusher sees it: it holds a source and adds its results."""

    @property
    def lease(self) -> Lease: ...

    def report(self, release: Release | None = None) -> SourceReport:
        """Returns the state of the source, to be stored with its results."""

    def flushed(self, results: list[Result]) -> None:
        """Called when these results are stored."""

    def lose(self) -> None:
        """Called when this worker no longer owns the source."""


class Flusher:
    """Calls `on_commit` after each commit, to notify followers of events, and `on_links` after a
    commit that may have stored links."""

    def __init__(
        self, *, store: Store, clock: Clock, worker: str, delay_ms: int,
        on_commit: Callable[[], None] = lambda: None, on_links: Callable[[], None] = lambda: None,
    ) -> None:  # fmt: skip
        self._store, self._clock, self._worker, self._delay_ms = store, clock, worker, delay_ms
        self._on_commit, self._on_links = on_commit, on_links
        self._results: list[tuple[Holder, Result]] = []
        self._offsets: list[int] = []
        """The clock's offset at the time of each result: the clock may jump before the flush."""
        self._pending_bytes = 0
        self._packer = DocumentPacker()
        self._started: dict[int, tuple[Holder, Visit]] = {}
        self._releases: dict[int, tuple[Holder, Release, asyncio.Future[None]]] = {}
        self._has_work = asyncio.Event()
        self._urgent = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()
        self._all_stored = asyncio.Event()
        self._all_stored.set()
        self.recorded = 0

    def add(self, lane: Holder, result: Result) -> None:
        self._started.pop(result.visit.page_id, None)
        self._results.append((lane, result))
        self._offsets.append(self._clock.offset)
        self._pending_bytes += _size(result)
        if len(self._results) >= MOST_PENDING or self._pending_bytes >= MOST_PENDING_BYTES:
            self._room.clear()
        self._flush_soon()

    def started(self, lane: Holder, visit: Visit) -> None:
        self._started[visit.page_id] = (lane, visit)
        self._has_work.set()

    def unstarted(self, visit: Visit) -> None:
        self._started.pop(visit.page_id, None)

    async def release(self, lane: Holder, release: Release) -> None:
        """Releases the source, after storing everything that was added for it."""
        stored: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._releases[lane.lease.source_id] = (lane, release, stored)
        self._flush_soon()
        await stored

    async def suspect(self, lane: Holder, visit: Visit) -> bool:
        """Stores which page is about to be visited, on a source whose owners keep dying. Returns
        False when that failed."""
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

    async def wait_for_room(self) -> None:
        await self._room.wait()

    def _flush_soon(self) -> None:
        self._all_stored.clear()
        self._has_work.set()
        self._urgent.set()

    async def run(self) -> None:
        while True:
            await self._has_work.wait()
            if not self._urgent.is_set():
                try:
                    async with asyncio.timeout(STARTS_WAIT):
                        await self._urgent.wait()
                except TimeoutError:
                    pass
            await self.flush_once()
            if len(self._results) < FLUSH_AT_ONCE_FROM:
                await asyncio.sleep(PAUSE)

    async def drained(self) -> None:
        """Waits until everything added so far is stored."""
        await self._all_stored.wait()

    async def flush_once(self) -> None:
        self._has_work.clear()
        self._urgent.clear()
        # The clock may jump while a thread packs, so times are taken afterwards, at once.
        number = min(MOST_RESULTS, len(self._results))
        await self._packer.pack(result for _lane, result in self._results[:number])
        results = self._take_results(number)
        started, self._started = self._started, {}
        still_pending = {id(lane) for lane, _result in self._results}
        releases = {i: r for i, r in self._releases.items() if id(r[0]) not in still_pending}
        for source_id in releases:
            del self._releases[source_id]
        if self._results:
            self._flush_soon()
        batch = self._batch(results, list(started.values()), releases)
        if not batch:
            return
        flushed = await self._store_batch(batch)
        self._on_commit()
        if any(result.links or result.visit.scraper in LISTS for _lane, result in results):
            self._on_links()
        if len(self._results) < MOST_PENDING and self._pending_bytes < MOST_PENDING_BYTES:
            self._room.set()
        self._notify_lanes(flushed, results, releases)
        if not self._results and not self._releases:
            self._all_stored.set()

    def _take_results(self, most: int) -> list[tuple[Holder, Result]]:
        """Takes as many results as fit into one transaction, with their times shifted to the
        clock's present offset."""
        number = size = 0
        while number < most and size < MOST_BYTES:
            size += _size(self._results[number][1])
            number += 1
        results, self._results = self._results[:number], self._results[number:]
        offsets, self._offsets = self._offsets[:number], self._offsets[number:]
        self._pending_bytes -= size
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

    async def _store_batch(self, batch: Batch) -> Flushed:
        """Retries until the batch is stored. A result that cannot be stored fails the visit of its
        page only."""

        async def whole(results: Sequence[Result]) -> Flushed:
            return await self._store_whole(_part_of(batch, results))

        async def unstorable(result: Result, error: Exception) -> Flushed:
            log.error("flush_refused", url=result.visit.url, exc_info=error)
            part = _part_of(batch, [result])
            return await self._store_whole(replace(part, results=[unrecorded(result)]))

        parts = await isolate(batch.results, whole, unstorable)
        return Flushed(
            lost_sources=frozenset().union(*(part.lost_sources for part in parts)),
            recorded=sum(part.recorded for part in parts),
            dropped=sum(part.dropped for part in parts),
            run_events=[event for part in parts for event in part.run_events],
        )

    async def _store_whole(self, batch: Batch) -> Flushed:
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

    def _notify_lanes(
        self,
        flushed: Flushed,
        results: list[tuple[Holder, Result]],
        releases: dict[int, tuple[Holder, Release, asyncio.Future[None]]],
    ) -> None:
        self.recorded += flushed.recorded
        if flushed.dropped:
            log.warning("results_dropped", dropped=flushed.dropped, why="no longer ours or gone")
        for event in flushed.run_events:
            log_run_event(event)
        by_lane: dict[int, tuple[Holder, list[Result]]] = {}
        for lane, result in results:
            by_lane.setdefault(id(lane), (lane, []))[1].append(result)
        for lane, of_lane in by_lane.values():
            lane.flushed(of_lane)
            if lane.lease.source_id in flushed.lost_sources:
                lane.lose()
        for _lane, _release, stored in releases.values():
            if not stored.done():
                stored.set_result(None)


def _size(result: Result) -> int:
    return result.document.bytes if result.document is not None else 0


def _part_of(batch: Batch, results: Sequence[Result]) -> Batch:
    """Returns a part of the batch. The first part also reports started visits; the last part also
    releases sources."""
    if len(results) == len(batch.results):
        return batch
    is_first, is_last = results[0] is batch.results[0], results[-1] is batch.results[-1]
    without_releases = {i: replace(report, release=None) for i, report in batch.reports.items()}
    return Batch(
        list(results),
        batch.reports if is_last else without_releases,
        batch.started if is_first else [],
    )
