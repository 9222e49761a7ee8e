"""A scheduler's own loop: look, fire what is due, say that one is there, sleep until the next."""

import os
import platform
import secrets
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial

import orjson

from curtsy import __version__, periodic
from curtsy.batcher import isolate
from curtsy.clock import SECOND, Clock
from curtsy.errors import StoreAway, StoreFull
from curtsy.frontier.fence import TimeShifted
from curtsy.logs import logger
from curtsy.schedules.firer import BATCH, Fired, Firer, FireResult
from curtsy.schedules.overlap import replace_run, runs_to_replace
from curtsy.schedules.skip import refuse
from curtsy.schedules.task_queue import TaskQueue
from curtsy.sites.runs import log_run
from curtsy.store import Connection, Statement, Store

log = logger("schedule")

LOOK_EVERY = 1 * SECOND
"""At least: somebody may have made a schedule that is due soon."""
BEAT_EVERY = 5 * SECOND
GONE_AFTER = 60 * SECOND
ALIVE = 15 * SECOND
"""Who said so within this keeps the schedules."""
LATE = 1 * SECOND
"""A slot that fires later than this counts as late."""
PATIENCE = 2
"""So often what is due together may be too much for the store; then it is tried apart."""
AHEAD = SECOND // 4
"""So far our idea of the database's time may be ahead of it, and no jump."""

_NEXT = Statement(
    """
    SELECT look_at, {clock} AS told FROM schedules WHERE look_at IS NOT NULL
    ORDER BY look_at LIMIT 1
    """
)
_DUE_IDS = Statement("SELECT id FROM schedules WHERE look_at <= :now ORDER BY look_at LIMIT :most")
_BEAT = Statement(
    """
    INSERT INTO schedulers (id, machine, pid, program, started_at, ticked_at)
    VALUES (:id, :machine, :pid, :program, :now, :now)
    ON CONFLICT (id) DO UPDATE SET ticked_at = excluded.ticked_at
    """
)
_FORGET = Statement("DELETE FROM schedulers WHERE id = :id OR ticked_at < :before")


class Ticker:
    def __init__(
        self, *, store: Store, clock: Clock, firer: Firer, tasks: TaskQueue,
        on_work: Callable[[], None],
    ) -> None:  # fmt: skip
        self.id = f"s_{secrets.token_hex(6)}"
        self._store, self._clock, self._firer = store, clock, firer
        self.tasks, self._on_work = tasks, on_work
        self._beat_at = 0
        self._in_vain = 0
        self.wake = periodic.Wake()

    async def step(self) -> float:
        """A duty. Returns the seconds until there may be something to fire."""
        await self._beat()
        asked_at = self._clock.now()
        due = await self._store.read(lambda c: _NEXT(c).one_or_none())
        wait = LOOK_EVERY if due is None else min(LOOK_EVERY, due.look_at - self._clock.now())
        if due is None or wait > 0:
            return wait / SECOND
        if asked_at - due.told > AHEAD:
            return 0.2  # the database's clock was set back: by it, nothing may be due
        try:
            look = await self._look()
        except TimeShifted:
            return 0.2  # another process saw the clock jump; ours is set right in a moment
        return 0.0 if look.has_moved else 0.1  # whoever holds what is due is about to fire it

    async def tick(self) -> list[Fired]:
        """Fire what is due, a batch of it."""
        return (await self._look()).fired

    async def _look(self) -> FireResult:
        now = self._clock.now()
        try:
            await self._make_room(now)
            with suppress(StoreAway):  # better by an old count than not at all
                await self._firer.pending.count(self._store)
            look = await self._store.write(lambda c: self._firer.fire_due(c, now=now), durable=True)
            self._in_vain = 0
        except (StoreFull, TimeShifted):
            raise
        except StoreAway:
            self._in_vain += 1
            if self._in_vain <= PATIENCE:
                raise
            log.warning("slots_could_not_fire", meaning="they are tried one by one")
            look = await self._one_by_one(now)
        except Exception:
            log.exception("slots_could_not_fire", meaning="they are tried one by one")
            look = await self._one_by_one(now)
        for one in look.fired:
            self.tell(one)
            if one.duty is not None:
                self.tasks.add(one)
        return look

    async def _one_by_one(self, now: int) -> FireResult:
        """Fires what is due in smaller batches, so that one schedule that cannot fire for a reason
        of its own does not hold up the others."""
        due = await self._store.read(lambda c: list(_DUE_IDS(c, now=now, most=BATCH).scalars()))

        async def fire(ids: Sequence[int]) -> FireResult:
            work = partial(self._firer.fire_due, now=now, only=ids)
            return await self._store.write(work, durable=True)

        async def skip(schedule_id: int, error: Exception) -> FireResult:
            if isinstance(error, StoreAway):
                log.warning("slot_could_not_fire", schedule_id=schedule_id, reason=str(error))
                return FireResult([], has_moved=False)
            reason = f"An error of our own: {error!r}"
            fired = await self._store.write(partial(refuse, schedule_id=schedule_id,
                                                    reason=reason, now=now))  # fmt: skip
            return FireResult(fired, has_moved=bool(fired))

        looks = await isolate(due, fire, skip, passes=(StoreFull, TimeShifted)) if due else []
        return FireResult([one for look in looks for one in look.fired],
                    has_moved=any(look.has_moved for look in looks))  # fmt: skip

    async def _make_room(self, now: int) -> None:
        """Runs that the next slot of their schedule is to replace, each in its own transaction."""
        for found in await self._store.read(lambda c: runs_to_replace(c, now)):
            if await self._store.write(lambda c: replace_run(c, found, self._firer, now=now)):  # noqa: B023
                log.info("run_replaced", job=found.job)

    def tell(self, one: Fired) -> None:
        """Of what fired: the log, and whoever waits for work."""
        lag = self._clock.now() - one.fire_at
        log.info(f"slot_{one.outcome}", schedule=one.schedule.name, job=one.job,
                 why=one.message, late_ms=lag if lag > LATE else None)  # fmt: skip
        if one.job is not None:
            self._on_work()
            if one.schedule.site_id is not None:
                site = orjson.loads(one.schedule.payload)["run"]["site_name"]
                log_run("run_queued", site, one.job, "queued")

    async def _beat(self) -> None:
        """For people who want to know who keeps the schedules; no protocol reads it."""
        if self._clock.monotonic() >= self._beat_at:
            self._beat_at = self._clock.monotonic() + BEAT_EVERY
            await self._store.write(self._say_so)

    def _say_so(self, connection: Connection) -> None:
        now = self._clock.now()
        _FORGET(connection, id="", before=now - GONE_AFTER)
        _BEAT(connection, id=self.id, machine=platform.node(), pid=os.getpid(),
              program=f"curtsy {__version__}", now=now)  # fmt: skip

    async def leave(self) -> None:
        with suppress(StoreAway, StoreFull):
            await self._store.write(lambda c: _FORGET(c, id=self.id, before=0) and None)
