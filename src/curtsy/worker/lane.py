"""One leased source: its visits in order, its requests spaced, its results handed to the flush.

Only this lane, on this loop, decides when a request to the source starts.
"""

import asyncio
from functools import partial

from curtsy.fetch import TrustEnded
from curtsy.frontier.batch import Release, Result, SourceReport
from curtsy.frontier.control import SourceNews, Turn
from curtsy.frontier.lease import Lease
from curtsy.frontier.take import Visit
from curtsy.model.failure_kinds import Kind
from curtsy.model.jobs import Band, band_of
from curtsy.model.outcome import Failed
from curtsy.periodic import Wake
from curtsy.politeness.robots import Robots
from curtsy.politeness.waits import Waited
from curtsy.worker.budget import Budget
from curtsy.worker.lane_context import LaneContext
from curtsy.worker.lookahead import Lookahead
from curtsy.worker.pipeline import denial
from curtsy.worker.source_state import SourceState
from curtsy.worker.visit_buffer import VisitBuffer

LONGEST_HOLD = 3_000
"""A source that may not be asked for longer than this is given back until then."""
SUSPECT_FROM = 2
"""So many owners died in a row, and each page is named before it is visited."""


class Lane:
    def __init__(self, lease: Lease, context: LaneContext) -> None:
        self.lease, self._context = lease, context
        self._monotonic = context.clock.monotonic
        now = self._monotonic()
        self._suspected = lease.crash_streak >= SUSPECT_FROM
        self._source_state = SourceState(
            lease, clock=context.clock, defaults=context.defaults, rng=context.rng,
            trust=context.trust,
        )  # fmt: skip
        self._pace = self._source_state.pace
        self._pace.alone = self._suspected
        self._reading = VisitBuffer(lease.source_id, lease.ranks, now)
        self._news = Wake()
        self._view = Lookahead(self._reading, taker=context.taker, monotonic=self._monotonic)
        self._budget = Budget(now)
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
        self._pace.set_offset(self._context.clock.offset)
        if news.control_version != self._control_version:
            self._control_version = news.control_version
            self._source_state.adopt_policy(news.policy)
            self._news()
        self._known_band = news.band
        self._band = min(self._band, Band(news.band))

    def drop(self, gone: set[Turn], moved: set[Turn]) -> None:
        """Forget what is gone, as after a cancel, or waits elsewhere. Of what is gone, the open
        ones are aborted. Since the question was asked, a page may have come to its next turn."""
        for page_id, turn in gone | moved:
            visit = self._reading.held.get(page_id)
            if visit is None or visit.turn != turn:
                continue
            if page_id in self._open:
                if (page_id, turn) in gone:
                    self._open[page_id].cancel()
            elif page_id not in self._told:
                self._reading.forget(visit)

    def flushed(self, results: list[Result]) -> None:
        for result in results:
            self._told.discard(result.visit.page_id)
            self._reading.flushed(result.visit)
        self._news()

    # What the lane tells the worker.

    def holding(self) -> list[tuple[int, int, int]]:
        return [(v.page_id, v.turn, v.source_id) for v in self._reading.held.values()]

    def in_flight(self) -> list[int]:
        return list(self._open)

    def report(self, release: Release | None = None) -> SourceReport:
        is_open = [page_id for page_id in self._open if page_id not in self._told]
        return self._source_state.report(self._reading.ranks(self._monotonic()), is_open, release)

    # The lane's own way.

    async def run(self) -> None:
        """Visit page after page until the budget, the work or the lease ends; then give back."""
        async with asyncio.TaskGroup() as visits:
            while (visit := await self._next()) is not None:
                band = self._band
                if not self._context.slots.acquire_now(band):
                    await self._context.slots.acquire(band)
                    if (visit := await self._still_best(visit)) is None:
                        self._context.slots.release(band)
                        continue
                self._budget.spend(visit.page_id, self._monotonic())
                self._view.started()
                waited = self._source_state.starting(visit)
                self._context.flusher.started(self, visit)
                if self._robots(visit) is None:
                    self._scout = visit
                self._open[visit.page_id] = task = visits.create_task(self._visit(visit, waited))
                task.add_done_callback(partial(self._ended, visit, band))
                await asyncio.sleep(0)  # the other lanes' first requests go before our second
        if not self._lost:
            await self._context.flusher.release(self, self._release())

    async def _next(self) -> Visit | None:
        """The next visit, at the moment it may start; None when the lane is to end."""
        while await self._goes_on():
            if not self._context.flusher.has_room():
                await self._context.flusher.room()
            wait = self._pace.wait(self._monotonic())
            if wait is None or self._is_scouting():
                await self._news.wait(None)  # one that is open will end, or leave
            elif not self._context.trusted():
                await self._news.wait(1.0)
            elif self._waits_long(wait):
                return None
            elif wait and self._is_over(self._monotonic() + wait):
                return None  # whoever is next has the wait to get ready in
            elif (visit := self._view.known(wait) or await self._read(wait)) is None:
                if not self._reading.held:
                    return None
                await self._news.wait(1.0)
            elif (refusal := self._refusal(visit)) is not None:
                now = self._context.clock.now()
                self._tell(Result(visit, refusal, started_at=now, ended_at=now, unasked=True))
            elif (wait := self._pace.wait(self._monotonic())) == 0:
                return visit
            else:
                self._reading.put_back(visit)
                if wait is None or not self._waits_long(wait):
                    await self._news.wait(1.0 if wait is None else self._view.nap(wait) / 1000)
        return None

    async def _still_best(self, visit: Visit) -> Visit | None:
        """What to start now that there is a slot, which may have taken its time to come: the site
        may be closed by then, or rest, or be asked under another policy."""
        best: Visit | None = visit
        if self._view.is_stale() or visit.page_id not in self._reading.held:
            self._reading.put_back(visit)
            best = await self._read()
        if best is None or (self._refusal(best) is None and self._may_go()):
            return best
        self._reading.put_back(best)
        return None

    def _may_go(self) -> bool:
        now = self._monotonic()
        free = not self._is_over(now) and not self._is_scouting() and self._context.trusted()
        return free and self._pace.wait(now) == 0

    def _waits_long(self, wait: int) -> bool:
        """Too long to hold the source for: nothing is open, and nothing ends without a request."""
        return wait > LONGEST_HOLD and not (self._pace.in_flight or self._source_state.gave_up)

    async def _read(self, wait: int = 0) -> Visit | None:
        return await self._view.read(self._pace.policy.min_delay, wait)

    async def _goes_on(self) -> bool:
        """Or the lane is to end. Beyond its budget it does when nothing is open any more, and
        waits a moment to see whether that is soon."""
        while not self._ending and self._budget.is_spent(now := self._monotonic()):
            wait = self._budget.overtime(now)
            if not wait:
                return wait is not None
            await self._news.wait(wait / 1000)
        return not self._ending

    def _is_over(self, at: int) -> bool:
        """Then, with nothing open that keeps the source here."""
        return self._ending or (not self._open and self._budget.is_spent(at))

    def _is_scouting(self) -> bool:
        return self._scout is not None and self._robots(self._scout) is None

    def _robots(self, visit: Visit) -> Robots | None:
        return self._context.pipeline.robots(visit, self._pace.policy)

    def _refusal(self, visit: Visit) -> Failed | None:
        """Why the visit ends without a request, as far as that is known."""
        robots = self._robots(visit)
        if robots is not None:
            self._source_state.mind_crawl_delay(robots.crawl_delay)
        return self._source_state.refusal(visit) or (denial(robots, visit) if robots else None)

    async def _visit(self, visit: Visit, waited: Waited) -> None:
        started_at, began = self._context.clock.now(), self._monotonic()
        if self._suspected and not await self._context.flusher.suspect(self, visit):
            return
        try:
            done = await self._context.pipeline.run(
                visit, self._pace.policy, partial(self._may_start, visit)
            )
        except TrustEnded:
            return
        self._source_state.received(done.wire_bytes, robots=done.asked_robots)
        if done.answered_ms:
            self._pace.observe(done.answered_ms)
        if done.outcome is None:
            self._view.outdate()  # robots.txt is known: the page is read again, in its place
            return
        outcome = done.outcome
        unasked = isinstance(outcome, Failed) and outcome.kind is Kind.ROBOTS_DENIED
        result = Result(
            visit, outcome, started_at, self._context.clock.now(), document=done.document,
            links=done.links, lines=done.lines, unasked=unasked, waited=waited,
            asked_robots=self._pace.policy.robots,
        )  # fmt: skip
        self._tell(result if unasked else self._source_state.judge(result, began))

    def _tell(self, result: Result) -> None:
        if isinstance(result.outcome, Failed) and result.outcome.kind is Kind.ROBOTS_DENIED:
            self._source_state.refused()
        self._told.add(result.visit.page_id)
        self._context.flusher.add(self, result)

    def _may_start(self, visit: Visit) -> bool:
        """Asked when the request's bytes are handed to the socket.

        They leave at the end of this round of the loop, which may take milliseconds: spacing
        counts from the next round.
        """
        if self._lost or not self._context.trusted():
            return False
        self._sent.add(visit.page_id)
        asyncio.get_running_loop().call_soon(self._left)
        return True

    def _left(self) -> None:
        self._source_state.left()
        self._news()

    def _ended(self, visit: Visit, band: Band, _task: asyncio.Task[None]) -> None:
        """However the visit ended. Without a result, it waits in the store as it did before."""
        del self._open[visit.page_id]
        self._budget.ended(visit.page_id)
        if self._scout is visit:
            self._scout = None
        if visit.page_id not in self._told:
            self._context.flusher.unstarted(visit)
            self._reading.forget(visit)
        self._source_state.ended(was_sent=visit.page_id in self._sent)
        self._sent.discard(visit.page_id)
        self._context.slots.release(band)
        self._news()

    def _release(self) -> Release:
        best = self._reading.best()
        looks = 0 if best is not None else 1 if self._view.saw_visits else self.lease.looks + 1
        return Release(
            more=best is not None,
            band=band_of(best.priority) if best is not None else Band.HIGH,
            known_band=self._known_band,
            looks=looks,
            control_version=self._control_version,
        )
