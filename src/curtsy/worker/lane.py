"""One leased source: runs its visits in order, spaces its requests, adds its results to the flush.

Only this lane, on this event loop, decides when a request to the source starts.
"""

import asyncio
from dataclasses import replace
from functools import partial

from curtsy.fetch import TrustEnded
from curtsy.frontier.batch import Release, Result, SourceReport
from curtsy.frontier.control import SourceNews, Turn
from curtsy.frontier.lease import Lease
from curtsy.frontier.take import Visit
from curtsy.model.failure_kinds import Kind
from curtsy.model.job_states import Band, band_of
from curtsy.model.outcome import Failed
from curtsy.periodic import Wake
from curtsy.politeness.robots import Robots
from curtsy.politeness.waits import Waited
from curtsy.worker.budget import Budget
from curtsy.worker.lane_context import LaneContext
from curtsy.worker.lookahead import Lookahead
from curtsy.worker.pipeline import denial
from curtsy.worker.sent_posts import already_sent, not_repeated
from curtsy.worker.sessions.page_sessions import LaneSessions
from curtsy.worker.source_state import SourceState
from curtsy.worker.visit_buffer import VisitBuffer

LONGEST_HOLD = 3_000
"""Milliseconds. A source without a possible request for longer than this is released."""
SUSPECT_FROM = 2
"""After this many owners died in a row, each page is stored as suspect before it is visited."""


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
        self._buffer = VisitBuffer(lease.source_id, lease.ranks, now)
        self._wake = Wake()
        self._lookahead = Lookahead(self._buffer, taker=context.taker, monotonic=self._monotonic)
        self._budget = Budget(now, context.rng)
        self._ending = False
        self.hands_over = False
        """The budget has ended, and another worker is to get the source."""
        self._lost = False
        self._control_version = lease.control_version
        self._band, self._known_band = Band(lease.band), lease.band
        self._open: dict[int, asyncio.Task[None]] = {}
        self._scout: Visit | None = None
        """The open visit that fetches robots.txt, or logs in; no other visit starts until that is
        done."""
        self._sessions = LaneSessions(lease.source_id, read=context.read_jar, now=context.clock.now)
        self._sent: set[int] = set()
        self._reported: set[int] = set()
        """Pages whose result was added to the flush."""

    # Called by the worker.

    def end(self) -> None:
        """Starts no more visits; the source is released when none is in flight."""
        self._ending = True
        self._wake()

    def lose(self) -> None:
        """This worker no longer owns the source: aborts without storing results."""
        self._lost = True
        self.end()
        self.abort_open()

    def abort_open(self) -> None:
        """Aborts open requests without a record: their visits still wait in the store."""
        for task in self._open.values():
            task.cancel()

    def apply_control(self, news: SourceNews | None, worker: str) -> None:
        if news is None or news.owner != worker or news.epoch != self.lease.epoch:
            self.lose()
            return
        if news.paused:
            self.end()
        self._pace.set_offset(self._context.clock.offset)
        if news.control_version != self._control_version:
            self._control_version = news.control_version
            self._source_state.adopt_policy(news.policy)
            self._wake()
        self._known_band = news.band
        self._band = min(self._band, Band(news.band))

    def drop_visits(self, gone: set[Turn], moved: set[Turn]) -> None:
        """Forgets visits that are gone, as after a cancel, or that moved to another source. Aborts
        those of the gone visits that are open. A page that has reached its next turn since the
        read is left alone."""
        for page_id, turn in gone | moved:
            visit = self._buffer.held.get(page_id)
            if visit is None or visit.turn != turn:
                continue
            if page_id in self._open:
                if (page_id, turn) in gone:
                    self._open[page_id].cancel()
            elif page_id not in self._reported:
                self._buffer.forget(visit)

    def flushed(self, results: list[Result]) -> None:
        for result in results:
            self._reported.discard(result.visit.page_id)
            self._buffer.flushed(result.visit)
        self._wake()

    # Read by the worker.

    def held_visits(self) -> list[tuple[int, int, int]]:
        return [(v.page_id, v.turn, v.source_id) for v in self._buffer.held.values()]

    def in_flight(self) -> list[int]:
        return list(self._open)

    def report(self, release: Release | None = None) -> SourceReport:
        is_open = [page_id for page_id in self._open if page_id not in self._reported]
        ranks = self._buffer.ranks(self._monotonic())
        report = self._source_state.report(ranks, is_open, release)
        return replace(report, jars=self._sessions.changed())

    # The lane's loop.

    async def run(self) -> None:
        """Visits page after page until the budget, the work or the lease ends; then releases the
        source."""
        async with asyncio.TaskGroup() as visits:
            while (visit := await self._next()) is not None:
                band = self._band
                if not self._context.slots.acquire_now(band):
                    await self._context.slots.acquire(band)
                    if (visit := await self._still_best(visit)) is None:
                        self._context.slots.release(band)
                        continue
                self._budget.spend(visit.page_id, self._monotonic())
                self._lookahead.started()
                waited = self._source_state.starting(visit)
                self._context.flusher.started(self, visit)
                if self._is_first(visit):
                    self._scout = visit
                self._open[visit.page_id] = task = visits.create_task(self._visit(visit, waited))
                task.add_done_callback(partial(self._ended, visit, band))
                await asyncio.sleep(0)  # the other lanes' first requests go before our second
        if not self._lost:
            await self._context.flusher.release(self, self._release())

    async def _next(self) -> Visit | None:
        """Waits until the next visit may start and returns it; None: the lane ends."""
        while await self._continues():
            if not self._context.flusher.has_room():
                await self._context.flusher.wait_for_room()
            wait = self._pace.wait(self._monotonic())
            if wait is None or self._is_scouting():
                await self._wake.wait(None)  # an open request will end or be sent
            elif not self._context.trusted():
                await self._wake.wait(1.0)
            elif self._waits_long(wait):
                return None
            elif wait and self._is_over(self._monotonic() + wait):
                return None  # the next owner can use the wait to prepare
            elif (visit := self._lookahead.known(wait) or await self._read(wait)) is None:
                if self._buffer.held:
                    await self._wake.wait(1.0)
                elif wait and not self._lookahead.saw_visits:
                    await self._wake.wait(wait / 1000)  # leased ahead: its visit is not due yet
                else:
                    return None
            elif (refusal := self._refusal(visit)) is not None:
                now = self._context.clock.now()
                self._report_result(
                    Result(visit, refusal, started_at=now, ended_at=now, no_request=True)
                )
            elif (wait := self._pace.wait(self._monotonic())) == 0:
                return visit
            else:
                self._buffer.put_back(visit)
                if wait is None or not self._waits_long(wait):
                    await self._wake.wait(
                        1.0 if wait is None else self._lookahead.pause_before_read(wait) / 1000
                    )
        return None

    async def _still_best(self, visit: Visit) -> Visit | None:
        """Returns the visit to start now that a slot is free; None: none may start. During the
        wait for the slot the site may have closed, may rest, or may have got another policy."""
        best: Visit | None = visit
        if self._lookahead.is_stale() or visit.page_id not in self._buffer.held:
            self._buffer.put_back(visit)
            best = await self._read()
        if best is None or (self._refusal(best) is None and self._may_go()):
            return best
        self._buffer.put_back(best)
        return None

    def _may_go(self) -> bool:
        now = self._monotonic()
        free = not self._is_over(now) and not self._is_scouting() and self._context.trusted()
        return free and self._pace.wait(now) == 0

    def _waits_long(self, wait: int) -> bool:
        """Too long to hold the source: no request is open, and no visit can end without one."""
        return wait > LONGEST_HOLD and not (self._pace.in_flight or self._source_state.gave_up)

    async def _read(self, wait: int = 0) -> Visit | None:
        return await self._lookahead.read(self._pace.policy.min_delay, wait)

    async def _continues(self) -> bool:
        """Returns False when the lane is to end. Beyond its budget the lane ends when no request
        is open; this waits a moment for open requests to end."""
        while not self._ending and self._budget_ends(now := self._monotonic()):
            wait = self._budget.overtime(now)
            if not wait:
                return wait is not None
            await self._wake.wait(wait / 1000)
        return not self._ending

    def _is_over(self, at: int) -> bool:
        """Whether the lane is to end at that time, with no open request to wait for."""
        return self._ending or (not self._open and self._budget_ends(at))

    def _budget_ends(self, at: int) -> bool:
        """Whether the budget is spent at that time and the source is to be handed over. Otherwise
        the budget is renewed: a release and a lease would only cost time."""
        if not self._budget.is_spent(at):
            return False
        if not self.hands_over and not self._suspected and self._context.keeps():
            self._budget.renew(self._monotonic())
            self._buffer.forget_flushed()
            return False
        self.hands_over = True
        return True

    def _is_scouting(self) -> bool:
        scouts = self._scout is not None and self._is_first(self._scout)
        return scouts or self._sessions.is_sending()

    def _is_first(self, visit: Visit) -> bool:
        """Whether something else is requested before the page: robots.txt, or a login."""
        policy, version = self._pace.policy, self._control_version
        return self._robots(visit) is None or self._sessions.comes_first(visit, policy, version)

    def _robots(self, visit: Visit) -> Robots | None:
        return self._context.pipeline.robots(visit, self._pace.policy)

    def _refusal(self, visit: Visit) -> Failed | None:
        """Returns why the visit ends without a request, as far as that is known."""
        robots = self._robots(visit)
        if robots is not None:
            self._source_state.apply_crawl_delay(robots.crawl_delay)
        known = self._source_state.refusal(visit) or already_sent(visit)
        refusal = known or (denial(robots, visit) if robots else None)
        policy, version = self._pace.policy, self._control_version
        return refusal or self._sessions.refusal(visit, policy, version)

    async def _visit(self, visit: Visit, waited: Waited) -> None:
        started_at, began = self._context.clock.now(), self._monotonic()
        if self._suspected and not await self._context.flusher.suspect(self, visit):
            return
        session = await self._sessions.of(visit)
        try:
            done = await self._context.pipeline.run(
                visit, self._pace.policy, partial(self._may_start, visit), session,
                self._control_version, partial(self._context.sent_marks.mark, visit),
            )  # fmt: skip
        except TrustEnded:
            return
        self._source_state.received(done.wire_bytes, robots=done.asked_robots)
        if done.answered_ms:
            self._pace.observe(done.answered_ms)
        if done.outcome is None:
            self._lookahead.invalidate()  # robots.txt or the login is done: read the page again
            return
        outcome = done.outcome
        no_request = isinstance(outcome, Failed) and (
            outcome.kind is Kind.ROBOTS_DENIED
            or (done.asked_login and outcome.kind is Kind.LOGIN_FAILED)
        )
        result = Result(
            visit, outcome, started_at, self._context.clock.now(), document=done.document,
            links=done.links, lines=done.lines, no_request=no_request, waited=waited,
            robots_allowed=self._pace.policy.robots,
            of_robots=done.asked_robots or done.asked_login,
        )  # fmt: skip
        judged = result if no_request else self._source_state.judge(result, began)
        was_sent = visit.page_id in self._sent and not (done.asked_robots or done.asked_login)
        self._report_result(not_repeated(judged) if was_sent else judged)

    def _report_result(self, result: Result) -> None:
        if isinstance(result.outcome, Failed) and result.outcome.kind is Kind.ROBOTS_DENIED:
            self._source_state.refused()
        self._reported.add(result.visit.page_id)
        self._context.flusher.add(self, result)

    def _may_start(self, visit: Visit) -> bool:
        """Called when the bytes of the request are handed to the socket.

        The bytes leave at the end of this iteration of the event loop, which may take
        milliseconds, so spacing counts from the next iteration.
        """
        if self._lost or not self._context.trusted():
            return False
        self._sent.add(visit.page_id)
        asyncio.get_running_loop().call_soon(self._request_left)
        return True

    def _request_left(self) -> None:
        self._source_state.left()
        self._wake()

    def _ended(self, visit: Visit, band: Band, _task: asyncio.Task[None]) -> None:
        """Called however the visit ended. A visit without a result still waits in the store."""
        del self._open[visit.page_id]
        self._budget.ended(visit.page_id)
        if self._scout is visit:
            self._scout = None
        if visit.page_id not in self._reported:
            self._context.flusher.unstarted(visit)
            self._buffer.forget(visit)
        self._source_state.ended(was_sent=visit.page_id in self._sent)
        self._sent.discard(visit.page_id)
        self._context.slots.release(band)
        self._wake()

    def _release(self) -> Release:
        best = self._buffer.best()
        looks = 0 if best is not None else 1 if self._lookahead.saw_visits else self.lease.looks + 1
        return Release(
            more=best is not None,
            band=band_of(best.priority) if best is not None else Band.HIGH,
            known_band=self._known_band,
            looks=looks,
            control_version=self._control_version,
        )
