"""One session of a worker: from its registration to its end, under one id.

A session ends when it is declared dead or drained; the worker then starts another one or stops.
"""

import asyncio
import os
import platform
import random
import secrets
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from math import ceil

from curtsy import __version__, periodic
from curtsy.clock import Clock
from curtsy.errors import StoreAway, StoreFull
from curtsy.frontier.control import (
    Turn,
    held_by_others,
    lost_visits,
    owned_sources,
    release_strays,
    source_news,
)
from curtsy.frontier.lease import Lease, LowWater, lease, next_ready
from curtsy.frontier.worker_rows import WorkerRow, leave
from curtsy.logs import logger
from curtsy.model.job_states import Band
from curtsy.model.worker_places import program_with_place
from curtsy.store import Store
from curtsy.store.version import newest
from curtsy.worker.flusher import Flusher
from curtsy.worker.heartbeat import Heartbeat
from curtsy.worker.lane import Lane
from curtsy.worker.lane_context import LaneContext
from curtsy.worker.link_follower import LinkFollower
from curtsy.worker.lookahead import VisitTaker
from curtsy.worker.observer import Observer
from curtsy.worker.pipeline import Pipeline
from curtsy.worker.sent_posts import SentMarks
from curtsy.worker.sessions.page_sessions import JarReader
from curtsy.worker.settings import WorkerSettings
from curtsy.worker.webhook_sender import WebhookSender
from curtsy.worker.worker_slots import SHARES, WorkerSlots

log = logger("worker")

LEASE_AT_ONCE = 64
LONGEST_POLL = 2_000
WAIT_FOR_ROOM_SECONDS = 2.0
LEAVE_SECONDS = 3.0
OTHERS_FIRST = 200
"""Milliseconds that a worker leases nothing after it released a source for others."""


AFTER_THE_LAST = 0.02
"""Seconds. A lease that found fewer sources than it wanted is not repeated at once: its lanes go
first. A submit wakes the worker anyway."""

_NONE: tuple[set[Turn], set[Turn]] = (set(), set())


class _Over(Exception):
    """Cancels every task of the session."""


class Session:
    def __init__(
        self, *, store: Store, clock: Clock, pipeline: Pipeline, settings: WorkerSettings,
        wake: periodic.Wake, on_commit: Callable[[], None], sender: WebhookSender,
        memory: Callable[[], int | None], on_offer: Callable[[], None] = lambda: None,
    ) -> None:  # fmt: skip
        """`memory` returns the bytes that this worker uses; `on_offer` is called when a source was
        released for other workers."""
        self.id = f"w_{secrets.token_hex(6)}"
        self._store, self._clock, self._settings, self._wake = store, clock, settings, wake
        self._lanes: dict[int, Lane] = {}
        self._lane_ended = periodic.Wake()
        self._links_found = periodic.Wake()
        self._sender = sender
        self._over = asyncio.Event()
        self._registered = asyncio.Event()
        self._draining = self._leasing = False
        self._had_room = True
        self._on_offer, self._offers_until = on_offer, 0
        self._held_by_others: list[int] = []
        self._low_water = LowWater()
        self._observer = Observer(store=store, clock=clock, ttl=settings.lease_ttl)
        self._flusher = Flusher(store=store, clock=clock, worker=self.id,
                                delay_ms=settings.policy.min_delay, on_commit=on_commit,
                                on_links=self._links_found)  # fmt: skip
        self._follower = LinkFollower(store=store, clock=clock, allow=settings.allow,
                                      delay_ms=settings.policy.min_delay)  # fmt: skip
        program = program_with_place(f"curtsy {__version__}", settings.place)
        row = WorkerRow(self.id, platform.node(), os.getpid(), program, settings.slots,
                        schema=newest())  # fmt: skip
        self._heartbeat = Heartbeat(url=store.url, clock=clock, row=row, ttl=settings.lease_ttl,
                                    in_flight=self._in_flight, memory=memory,
                                    on_end=self._over.set)  # fmt: skip
        self._context = LaneContext(
            clock=clock, slots=WorkerSlots(settings.slots),
            taker=VisitTaker(store=store, clock=clock),
            flusher=self._flusher, pipeline=pipeline, trusted=self._heartbeat.trusted,
            sent_marks=SentMarks(store=store, worker=row.id),
            defaults=settings.policy, trust=settings.lease_ttl,
            rng=random.Random(), read_jar=JarReader(store), keeps=self._keeps,
        )  # fmt: skip

    async def run(self) -> None:
        """Runs until declared dead or drained."""
        steps: dict[str, Callable[[], Awaitable[float]]] = {
            "tick": self._tick, "control": self._control, "observe": self._observer.step,
        }  # fmt: skip
        try:
            await self._heartbeat.start()
            self._registered.set()
            log.info("worker_started", worker=self.id, slots=self._settings.slots)
            async with asyncio.TaskGroup() as group:
                for name, step in steps.items():
                    group.create_task(periodic.run(name, step))
                group.create_task(periodic.run("lease", partial(self._lease, group), self._wake))
                group.create_task(periodic.run("links", self._follow_links, self._links_found))
                group.create_task(self._flusher.run())
                group.create_task(self._sender.run())
                group.create_task(self._end_all_when_over())
        except* _Over:
            pass
        finally:
            self._registered.set()
            await self._heartbeat.stop()

    @property
    def recorded(self) -> int:
        return self._flusher.recorded

    async def _follow_links(self) -> float:
        pause = await self._follower.step()
        self._wake()
        return pause

    async def _end_all_when_over(self) -> None:
        await self._over.wait()
        raise _Over

    async def drain(self, seconds: float) -> None:
        """Starts no more visits, lets open requests end, stores all results, releases all
        sources."""
        self._draining = self._heartbeat.draining = True
        await self._registered.wait()  # leaving first would leave the row there for a lease
        log.info("worker_drains", worker=self.id, in_flight=len(self._in_flight()))
        for lane in self._lanes.values():
            lane.end()
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self._lanes:
                    await self._lane_ended.wait(1.0)
                await self._flusher.drained()
        self._heartbeat.stop_beating()
        with suppress(StoreAway, StoreFull, TimeoutError):
            async with asyncio.timeout(LEAVE_SECONDS):
                await self._store.write(lambda c: leave(c, self.id, now=self._clock.now()))
        log.info("worker_stopped", worker=self.id, recorded=self._flusher.recorded)
        self._over.set()

    def _in_flight(self) -> list[int]:
        return [page for lane in list(self._lanes.values()) for page in lane.in_flight()]

    async def _tick(self) -> float:
        self._heartbeat.tick()
        if not self._heartbeat.trusted():
            for lane in self._lanes.values():
                lane.abort_open()
        return min(0.5, self._settings.lease_ttl / 30_000)

    async def _lease(self, group: asyncio.TaskGroup) -> float:
        """Leases sources while slots are free; returns seconds until the next attempt."""
        room = self._settings.lanes - len(self._lanes)
        at_once = min(room, LEASE_AT_ONCE, 2 * self._context.slots.free)
        if self._draining or at_once <= 0 or not self._heartbeat.trusted():
            return 0.1
        if not await self._has_room():
            return WAIT_FOR_ROOM_SECONDS
        if (wait := self._offers_until - self._clock.monotonic()) > 0:
            return wait / 1000
        if self._store.is_sqlite:  # a lease locks the whole file, even if it finds nothing
            at = await self._store.read(next_ready)
            if at is None or at > self._clock.now():
                return self._until(at)
        wants = {int(band): max(1, round(at_once * SHARES[band])) for band in Band}
        now, version = self._clock.now(), self._clock.version
        self._leasing = True
        try:
            leases = await self._store.write(
                lambda c: lease(c, worker=self.id, wants=wants, low_water=self._low_water,
                                clock_version=version, now=now, doubt=self._clock.doubt),
                single=True,
            )  # fmt: skip
        finally:
            self._leasing = False
        for leased in leases:
            self._lanes[leased.source_id] = lane = Lane(leased, self._context)
            group.create_task(self._run_lane(lane))
        if leases:
            return 0.0 if _may_have_more(leases, wants) else AFTER_THE_LAST
        return self._until(await self._store.read(lambda c: next_ready(c, after=now)))

    async def _has_room(self) -> bool:
        """Whether the disk has room for new work. If not, sources are released when their lanes'
        budgets end, and what was fetched is still stored."""
        has_room = await self._store.has_room()
        if has_room != self._had_room:
            self._had_room = has_room
            if has_room:
                log.info("work_goes_on", worker=self.id, meaning="the disk has room again")
            else:
                log.warning("work_waits", worker=self.id, meaning="the disk is nearly full")
        return has_room

    def _until(self, at: int | None) -> float:
        """Returns the seconds until a lease is to be tried at that time."""
        wait = LONGEST_POLL if at is None else min(LONGEST_POLL, max(10, at - self._clock.now()))
        return wait / 1000 * random.uniform(0.9, 1.0) if wait == LONGEST_POLL else wait / 1000

    def _keeps(self) -> bool:
        """Whether a lane may keep its source beyond its budget: this worker has room for others,
        and holds no more than its share of the sources, or little more."""
        if (
            not self._had_room
            or self._context.slots.free <= 0
            or len(self._lanes) >= self._settings.lanes
        ):
            return False
        if not self._held_by_others:
            return True
        held = sum(not lane.hands_over for lane in self._lanes.values())
        share = ceil((held + sum(self._held_by_others)) / (1 + len(self._held_by_others)))
        return held <= share + share // 8 + 1

    async def _run_lane(self, lane: Lane) -> None:
        try:
            await lane.run()
        except Exception:
            log.exception("lane_failed", source=lane.lease.name)
        finally:
            # a new lane may have leased the source before this release was confirmed
            if self._lanes.get(lane.lease.source_id) is lane:
                del self._lanes[lane.lease.source_id]
            self._lane_ended()
            if lane.hands_over and self._held_by_others:
                self._offers_until = self._clock.monotonic() + OTHERS_FIRST
                self._on_offer()
            self._wake()

    async def _control(self) -> float:
        """Applies cancels, pauses and policies to every lane within a second."""
        lanes = dict(self._lanes)
        if lanes:
            held = [pair for lane in lanes.values() for pair in lane.held_visits()]
            of_sources = await self._store.read(lambda c: source_news(c, list(lanes)))
            vanished, moved = (
                await self._store.read(lambda c: lost_visits(c, held)) if held else _NONE
            )
            for source_id, lane in lanes.items():
                lane.apply_control(of_sources.get(source_id), self.id)
                lane.drop_visits(vanished, moved)
        self._held_by_others = await self._store.read(lambda c: held_by_others(c, self.id))
        await self._release_strays()
        return 0.9

    async def _release_strays(self) -> None:
        """Releases sources that this worker owns in the database but has no lane for: the answer
        of their lease was lost."""
        if self._leasing:
            return
        ours = await self._store.read(lambda c: owned_sources(c, self.id))
        strays = [(i, epoch) for i, epoch in ours.items() if i not in self._lanes]
        if strays and not self._leasing:
            now = self._clock.now()
            freed = await self._store.write(
                lambda c: release_strays(c, strays, worker=self.id, now=now)
            )
            if freed:
                log.warning("strays_given_back", sources=freed, why="a lease's answer was lost")


def _may_have_more(leases: list[Lease], wants: dict[int, int]) -> bool:
    """Whether sources of one of the bands may be ready that were not wanted yet."""
    found = Counter(leased.band for leased in leases)
    return any(found[band] >= want for band, want in wants.items())
