"""One leased source: its visits in order, its requests spaced, its results handed to the flush.

Only this lane, on this loop, decides when a request to the source starts.
"""

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import orjson

from curtsy.clock import Clock
from curtsy.duty import Wake
from curtsy.fetch import TrustEnded
from curtsy.frontier.control import SourceNews
from curtsy.frontier.lease import Lease
from curtsy.frontier.results import Release, Result, SourceReport
from curtsy.frontier.take import Visit
from curtsy.model.jobs import Band, band_of
from curtsy.model.kinds import Kind
from curtsy.model.outcome import Failed
from curtsy.politeness.consequence import HostHealth
from curtsy.politeness.pace import Pace
from curtsy.politeness.policy import Policy
from curtsy.worker.flusher import Flusher
from curtsy.worker.pipeline import Pipeline
from curtsy.worker.reading import Reading
from curtsy.worker.results import Span, documented, judge
from curtsy.worker.slots import Slots
from curtsy.worker.taker import Taker

BUDGET_VISITS = 1_000
BUDGET_SPAN = 20_000
LONGEST_HOLD = 3_000
"""A source that may not be asked for longer than this is given back until then."""
LOOK_EVERY = 900
READ_AHEAD = 64
SUSPECT_FROM = 2
GUILTY_FROM = 3


@dataclass(frozen=True, slots=True)
class Crew:
    """What all lanes of a worker share."""

    clock: Clock
    slots: Slots
    taker: Taker
    flusher: Flusher
    pipeline: Pipeline
    trusted: Callable[[], bool]
    defaults: Policy
    rng: random.Random


class Lane:
    def __init__(self, lease: Lease, crew: Crew) -> None:
        self.lease, self._crew = lease, crew
        self._now = crew.clock.monotonic
        now = self._now()
        self.policy = crew.defaults.with_overrides(lease.policy)
        self._pace = Pace(self.policy, next_at=now + lease.wait, resting=lease.fail_streak > 0)
        self._reading = Reading(lease.source_id, lease.ranks, now)
        self._health = HostHealth(
            lease.fail_streak, lease.pace.get("announced", 0), lease.failing_since
        )
        self._gave_up_at, self._gave_up_kind = lease.gave_up_at, lease.gave_up_kind
        self._rest_began = now
        self._news = Wake()
        self._looked_at: int | None = None
        self._until = now + BUDGET_SPAN
        self._left = BUDGET_VISITS
        self._ending = False
        self._lost = False
        self._saw_visits = False
        self._control_version = lease.control_version
        self.band, self._known_band = Band(lease.band), lease.band
        self._open: dict[int, asyncio.Task[None]] = {}
        self._sent: set[int] = set()
        self._told: set[int] = set()
        """Pages whose result is with the flush."""

    # what the worker tells the lane

    def end(self) -> None:
        """Start nothing more; give the source back when nothing is in flight."""
        self._ending = True
        self._news()

    def lose(self) -> None:
        """The source is no longer ours: abort and say nothing of it."""
        self._lost = True
        self.end()
        self.abort_open()

    def abort_open(self) -> None:
        """Open requests end now, unrecorded: their visits still wait in the store."""
        for task in self._open.values():
            task.cancel()

    def hear(self, news: SourceNews | None, worker: str) -> None:
        if news is None or news.owner != worker or news.epoch != self.lease.epoch:
            self.lose()
            return
        if news.paused:
            self.end()
        if news.control_version != self._control_version:
            self._control_version = news.control_version
            self.policy = self._pace.policy = self._crew.defaults.with_overrides(news.policy)
            self._news()
        self._known_band = news.band
        self.band = min(self.band, Band(news.band))

    def drop(self, page_ids: set[int]) -> None:
        """These visits are gone, as after a cancel: forget them, abort the open ones."""
        for page_id in page_ids:
            if (visit := self._reading.held.get(page_id)) is not None:
                if page_id in self._open:
                    self._open[page_id].cancel()
                else:
                    self._reading.forget(visit)

    def flushed(self, results: list[Result]) -> None:
        for result in results:
            self._told.discard(result.visit.page_id)
            self._reading.flushed(result.visit)
        self._news()

    # what the lane tells the worker

    def holding(self) -> list[tuple[int, int]]:
        return [(visit.page_id, visit.turn) for visit in self._reading.held.values()]

    def in_flight(self) -> list[int]:
        return list(self._open)

    def report(self, release: Release | None = None) -> SourceReport:
        ahead = self._crew.clock.now() - self._now()
        return SourceReport(
            source_id=self.lease.source_id,
            epoch=self.lease.epoch,
            next_fetch_at=self._pace.next_at + ahead,
            delay_ms=max(self.policy.min_delay, self.policy.max_delay),
            ranks=self._reading.ranks(self._now()),
            pace=orjson.dumps({"announced": self._health.announced_streak}).decode(),
            fail_streak=self._health.fail_streak,
            failing_since=self._health.failing_since,
            gave_up_at=self._gave_up_at,
            gave_up_kind=self._gave_up_kind,
            release=release,
        )

    # the lane's own way

    async def run(self) -> None:
        """Visit page after page until the budget, the work or the lease ends; then give back."""
        async with asyncio.TaskGroup() as visits:
            while (visit := await self._next()) is not None:
                self._left -= 1
                await self._crew.slots.acquire(self.band)
                self._pace.started(self._now(), self._crew.rng)
                self._crew.flusher.started(self, visit)
                task = visits.create_task(self._visit(visit))
                self._open[visit.page_id] = task
                task.add_done_callback(partial(self._ended, visit, self.band))
        if not self._lost:
            await self._crew.flusher.release(self, self._release())

    async def _next(self) -> Visit | None:
        """The next visit, at the moment it may start; None when the lane is to end."""
        while not self._is_over():
            await self._crew.flusher.room()
            wait = self._pace.wait(self._now())
            if wait is None or not self._crew.trusted():
                await self._news.wait(1.0)
            elif wait > LONGEST_HOLD and not self._pace.in_flight and not self._gave_up_at:
                return None
            elif (visit := await self._read()) is None:
                if not self._reading.held:
                    return None
                await self._news.wait(1.0)
            elif (refusal := self._refusal(visit)) is not None:
                self._give_up(visit, refusal)
            elif wait > 0 and (wait := self._pace.next_at - self._now()) > 0:
                self._reading.put_back(visit)
                await self._news.wait(wait / 1000)
            else:
                return visit
        return None

    def _is_over(self) -> bool:
        return self._ending or self._left <= 0 or self._now() >= self._until

    async def _read(self) -> Visit | None:
        """The best visit known, from a view no older than a second."""
        now = self._now()
        stale = self._looked_at is None or now - self._looked_at >= LOOK_EVERY
        if stale or not len(self._reading):
            if stale:
                self._looked_at = now
            found = await self._crew.taker.take(self._reading.wish(self._ahead(), rewind=stale))
            self._reading.add(found)
            if not len(self._reading) and not self._reading.held:
                wish = self._reading.wish(self._ahead(), rewind=True, from_zero=True)
                self._reading.add(await self._crew.taker.take(wish))
        visit = self._reading.pop()
        self._saw_visits = self._saw_visits or visit is not None
        return visit

    def _ahead(self) -> int:
        """About a second of work."""
        if self.policy.min_delay <= 0:
            return READ_AHEAD
        return min(READ_AHEAD, 1 + 1000 // self.policy.min_delay)

    def _refusal(self, visit: Visit) -> Failed | None:
        if visit.crashes >= GUILTY_FROM:
            return Failed(
                Kind.INTERNAL, f"The worker died {visit.crashes} times while it had this page."
            )
        if self._gave_up_at is not None and visit.created_at <= self._gave_up_at:
            kind = Kind(self._gave_up_kind or Kind.CONNECT)
            return Failed(kind, f"{self.lease.name} does not answer; it was given up.")
        return None

    def _give_up(self, visit: Visit, refusal: Failed) -> None:
        now = self._crew.clock.now()
        result = Result(visit, refusal, started_at=now, ended_at=now, unasked=True)
        self._told.add(visit.page_id)
        self._crew.flusher.add(self, result)

    async def _visit(self, visit: Visit) -> None:
        started_at, began = self._crew.clock.now(), self._now()
        try:
            if self.lease.crash_streak >= SUSPECT_FROM:
                await self._crew.flusher.suspect(self, visit)
            outcome = await self._crew.pipeline.run(visit, partial(self._may_start, visit))
            span = Span(started_at, self._crew.clock.now())
            judged = judge(visit, outcome, span, policy=self.policy, health=self._health,
                           rng=self._crew.rng)  # fmt: skip
            if judged.rest is None or began >= self._rest_began:
                self._health = judged.health
            if judged.rest is not None:
                self._rest(judged.rest.wait, began)
            else:
                self._pace.resting = False
            if judged.host_is_dead and isinstance(outcome, Failed):
                self._gave_up_at, self._gave_up_kind = span.ended_at, outcome.kind
            result = await documented(judged.result)
            self._told.add(visit.page_id)
            self._crew.flusher.add(self, result)
        except TrustEnded:
            pass

    def _ended(self, visit: Visit, band: Band, _task: asyncio.Task[None]) -> None:
        """However the visit ended. Without a result, it waits in the store as it did before."""
        del self._open[visit.page_id]
        if visit.page_id not in self._told:
            self._crew.flusher.unstarted(visit)
            self._reading.forget(visit)
        self._pace.ended(was_sent=visit.page_id in self._sent)
        self._sent.discard(visit.page_id)
        self._crew.slots.release(band)
        self._news()

    def _may_start(self, visit: Visit) -> bool:
        """Asked when the request's bytes are about to go out: spacing counts from here."""
        if self._lost or not self._crew.trusted():
            return False
        self._sent.add(visit.page_id)
        self._pace.sent(self._now(), self._crew.rng)
        self._news()
        return True

    def _rest(self, span: int, began: int) -> None:
        if began >= self._rest_began:
            self._rest_began = self._now()
        self._pace.resting = True
        self._pace.rest(self._now() + span)

    def _release(self) -> Release:
        best = self._reading.best()
        more = best is not None
        looks = 0 if more or self._saw_visits else self.lease.looks + 1
        if not more and self._saw_visits:
            looks = 1
        band = band_of(best.priority) if best is not None else Band.HIGH
        return Release(more=more, band=band, known_band=self._known_band, looks=looks)
