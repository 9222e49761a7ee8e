"""One leased source: its visits in order, its requests spaced, its results handed to the flush.

Only this lane, on this loop, decides when a request to the source starts.
"""

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

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
from curtsy.politeness.policy import Policy
from curtsy.worker.flusher import Flusher
from curtsy.worker.pipeline import Pipeline, denial
from curtsy.worker.reading import Reading
from curtsy.worker.slots import Slots
from curtsy.worker.standing import Standing
from curtsy.worker.taker import Taker
from curtsy.worker.view import View

BUDGET_VISITS = 1_000
BUDGET_SPAN = 20_000
LONGEST_HOLD = 3_000
"""A source that may not be asked for longer than this is given back until then."""
SUSPECT_FROM = 2
"""So many owners died in a row, and each page is named before it is visited."""


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
    crawl_delay_cap: int
    rng: random.Random


class Lane:
    def __init__(self, lease: Lease, crew: Crew) -> None:
        self.lease, self._crew = lease, crew
        self._monotonic = crew.clock.monotonic
        now = self._monotonic()
        self._suspected = lease.crash_streak >= SUSPECT_FROM
        self._standing = Standing(lease, clock=crew.clock, defaults=crew.defaults, rng=crew.rng)
        self._pace = self._standing.pace
        self._pace.alone = self._suspected
        self._reading = Reading(lease.source_id, lease.ranks, now)
        self._news = Wake()
        self._view = View(self._reading, taker=crew.taker, monotonic=self._monotonic)
        self._until = now + BUDGET_SPAN
        self._budget = BUDGET_VISITS
        self._ending = False
        self._lost = False
        self._control_version = lease.control_version
        self._band, self._known_band = Band(lease.band), lease.band
        self._open: dict[int, asyncio.Task[None]] = {}
        self._scout: Visit | None = None
        """The open visit that finds out what robots.txt says; no other starts until it knows."""
        self._sent: set[int] = set()
        self._told: set[int] = set()
        """Pages whose result is with the flush."""

    # What the worker tells the lane.

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
            self._standing.adopt_policy(news.policy)
            self._news()
        self._known_band = news.band
        self._band = min(self._band, Band(news.band))

    def drop(self, page_ids: set[int]) -> None:
        """These visits are gone, as after a cancel: forget them, abort the open ones."""
        for page_id in page_ids:
            if page_id in self._open:
                self._open[page_id].cancel()
            elif (visit := self._reading.held.get(page_id)) and page_id not in self._told:
                self._reading.forget(visit)

    def flushed(self, results: list[Result]) -> None:
        for result in results:
            self._told.discard(result.visit.page_id)
            self._reading.flushed(result.visit)
        self._news()

    # What the lane tells the worker.

    def holding(self) -> list[tuple[int, int]]:
        return [(visit.page_id, visit.turn) for visit in self._reading.held.values()]

    def in_flight(self) -> list[int]:
        return list(self._open)

    def report(self, release: Release | None = None) -> SourceReport:
        return self._standing.report(self._reading.ranks(self._monotonic()), release)

    # The lane's own way.

    async def run(self) -> None:
        """Visit page after page until the budget, the work or the lease ends; then give back."""
        async with asyncio.TaskGroup() as visits:
            while (visit := await self._next()) is not None:
                band = self._band
                if not self._crew.slots.acquire_now(band):
                    await self._crew.slots.acquire(band)
                    if (visit := await self._still_best(visit)) is None:
                        self._crew.slots.release(band)
                        continue
                self._budget -= 1
                self._view.started()
                self._pace.started(self._monotonic(), self._crew.rng)
                self._crew.flusher.started(self, visit)
                if self._crew.pipeline.robots(visit) is None:
                    self._scout = visit
                self._open[visit.page_id] = task = visits.create_task(self._visit(visit))
                task.add_done_callback(partial(self._ended, visit, band))
                await asyncio.sleep(0)  # the other lanes' first requests go before our second
        if not self._lost:
            await self._crew.flusher.release(self, self._release())

    async def _next(self) -> Visit | None:
        """The next visit, at the moment it may start; None when the lane is to end."""
        while not self._is_over():
            if not self._crew.flusher.has_room():
                await self._crew.flusher.room()
            wait = self._pace.wait(self._monotonic())
            if wait is None or self._is_scouting():
                await self._news.wait(None)  # one that is open will end, or leave
            elif not self._crew.trusted():
                await self._news.wait(1.0)
            elif wait > LONGEST_HOLD and not self._pace.in_flight and not self._gives_up():
                return None
            elif (visit := self._view.known() or await self._read()) is None:
                if not self._reading.held:
                    return None
                await self._news.wait(1.0)
            elif (refusal := self._refusal(visit)) is not None:
                now = self._crew.clock.now()
                self._tell(Result(visit, refusal, started_at=now, ended_at=now, unasked=True))
            elif (wait := self._pace.wait(self._monotonic())) == 0:
                return visit
            else:
                self._reading.put_back(visit)
                await self._news.wait(1.0 if wait is None else wait / 1000)
        return None

    async def _still_best(self, visit: Visit) -> Visit | None:
        """What to start now that there is a slot, which may have taken its time to come."""
        if self._is_over() or not self._crew.trusted():
            self._reading.put_back(visit)
            return None
        if not self._view.is_stale() and visit.page_id in self._reading.held:
            return visit
        self._reading.put_back(visit)
        best = await self._read()
        if best is not None and self._refusal(best) is not None:
            self._reading.put_back(best)
            return None
        return best

    async def _read(self) -> Visit | None:
        return await self._view.read(self._pace.policy.min_delay)

    def _is_over(self) -> bool:
        return self._ending or self._budget <= 0 or self._monotonic() >= self._until

    def _is_scouting(self) -> bool:
        return self._scout is not None and self._crew.pipeline.robots(self._scout) is None

    def _refusal(self, visit: Visit) -> Failed | None:
        """Why the visit ends without a request, as far as that is known."""
        robots = self._crew.pipeline.robots(visit)
        return self._standing.refusal(visit) or (denial(robots, visit) if robots else None)

    def _gives_up(self) -> bool:
        return self._standing.gave_up_at is not None

    async def _visit(self, visit: Visit) -> None:
        started_at, began = self._crew.clock.now(), self._monotonic()
        if self._suspected and not await self._crew.flusher.suspect(self, visit):
            return
        try:
            done = await self._crew.pipeline.run(visit, partial(self._may_start, visit))
        except TrustEnded:
            return
        if done is None:
            self._pace.rest(self._monotonic() + self._mind_crawl_delay(visit))
            self._view.outdate()  # the page is read again, in its place
            return
        outcome = done.outcome
        unasked = isinstance(outcome, Failed) and outcome.kind is Kind.ROBOTS_DENIED
        result = Result(
            visit, outcome, started_at, self._crew.clock.now(), document=done.document,
            links=done.links, lines=done.lines, unasked=unasked,
            asked_robots=self._crew.pipeline.obeys_robots,
        )  # fmt: skip
        self._tell(result if unasked else self._standing.judge(result, began))

    def _mind_crawl_delay(self, visit: Visit) -> int:
        robots = self._crew.pipeline.robots(visit)
        asked = robots.crawl_delay if robots is not None else None
        delay = min(asked or 0, self._crew.crawl_delay_cap)
        self._standing.mind_crawl_delay(delay)
        return delay

    def _tell(self, result: Result) -> None:
        self._told.add(result.visit.page_id)
        self._crew.flusher.add(self, result)

    def _may_start(self, visit: Visit) -> bool:
        """Asked when the request's bytes are handed to the socket.

        They leave at the end of this round of the loop, which may take milliseconds: spacing
        counts from the next round.
        """
        if self._lost or not self._crew.trusted():
            return False
        self._sent.add(visit.page_id)
        self._mind_crawl_delay(visit)
        asyncio.get_running_loop().call_soon(self._left)
        return True

    def _left(self) -> None:
        self._pace.sent(self._monotonic(), self._crew.rng)
        self._news()

    def _ended(self, visit: Visit, band: Band, _task: asyncio.Task[None]) -> None:
        """However the visit ended. Without a result, it waits in the store as it did before."""
        del self._open[visit.page_id]
        if self._scout is visit:
            self._scout = None
        if visit.page_id not in self._told:
            self._crew.flusher.unstarted(visit)
            self._reading.forget(visit)
        self._pace.ended(was_sent=visit.page_id in self._sent)
        self._sent.discard(visit.page_id)
        self._crew.slots.release(band)
        self._news()

    def _release(self) -> Release:
        best = self._reading.best()
        looks = 0 if best is not None else 1 if self._view.saw_visits else self.lease.looks + 1
        return Release(
            more=best is not None,
            band=band_of(best.priority) if best is not None else Band.HIGH,
            known_band=self._known_band,
            looks=looks,
        )
