"""The loop of a scheduler: fires due slots, sends heartbeats, sleeps until the next slot."""

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
from curtsy.events.run_log import log_run
from curtsy.frontier.fence import TimeShifted
from curtsy.logs import logger
from curtsy.schedules.firer import BATCH, Fired, Firer, FireResult
from curtsy.schedules.overlap import replace_run, runs_to_replace
from curtsy.schedules.reopen import reopen
from curtsy.schedules.skip import refuse
from curtsy.schedules.task_queue import TaskQueue
from curtsy.store import Connection, Statement, Store
from curtsy.store.version import newest

log = logger("schedule")

POLL_EVERY = 1 * SECOND
"""The longest sleep: another process may have created a schedule that is due soon."""
BEAT_EVERY = 5 * SECOND
GONE_AFTER = 60 * SECOND
ALIVE = 15 * SECOND
"""A scheduler counts as alive for this long after a heartbeat."""
LATE = 1 * SECOND
"""A slot that fires later than this counts as late."""
TRIES_IN_A_BATCH = 2
"""How often a batch may fail because the store is away; then schedules fire in smaller batches."""
REOPEN_EVERY = 60 * SECOND
"""How often slots are opened again that another process resolved with a clock ahead of ours."""
WAIT_FOR_ROOM_SECONDS = 5.0
"""Between two looks whether the disk has room for new jobs again."""
CLOCK_TOLERANCE = SECOND // 4
"""How far our clock may be ahead of the database's without a jump of that clock."""

_NEXT = Statement(
    """
    SELECT look_at, {clock} AS database_now FROM schedules WHERE look_at IS NOT NULL
    ORDER BY look_at LIMIT 1
    """
)
_DATABASE_NOW = Statement("SELECT {clock}")
_DUE_IDS = Statement("SELECT id FROM schedules WHERE look_at <= :now ORDER BY look_at LIMIT :most")
_BEAT = Statement(
    """
    INSERT INTO schedulers (id, machine, pid, program, program_schema, started_at, ticked_at)
    VALUES (:id, :machine, :pid, :program, :schema, :now, :now)
    ON CONFLICT (id) DO UPDATE SET ticked_at = excluded.ticked_at
    """
)
_DELETE_SCHEDULERS = Statement("DELETE FROM schedulers WHERE id = :id OR ticked_at < :before")


class Ticker:
    def __init__(
        self, *, store: Store, clock: Clock, firer: Firer, tasks: TaskQueue,
        on_work: Callable[[], None],
    ) -> None:  # fmt: skip
        self.id = f"s_{secrets.token_hex(6)}"
        self._store, self._clock, self._firer = store, clock, firer
        self.tasks, self._on_work = tasks, on_work
        self._beat_at = 0
        self._schema = newest()
        self._failures = 0
        self._reopen_at = self._latest = 0
        self.wake = periodic.Wake()

    async def step(self) -> float:
        """A periodic step. Returns the seconds until a slot may be due."""
        await self._beat()
        await self._reopen()
        read_at = self._clock.now()
        due = await self._store.read(lambda c: _NEXT(c).one_or_none())
        wait = POLL_EVERY if due is None else min(POLL_EVERY, due.look_at - self._clock.now())
        if due is None or wait > 0:
            return wait / SECOND
        if read_at - due.database_now > CLOCK_TOLERANCE:
            return 0.2  # the database's clock was set back: nothing may be due by it
        if not await self._store.has_room():
            return WAIT_FOR_ROOM_SECONDS  # the slots fire later
        try:
            result = await self._fire_due()
        except TimeShifted:
            return 0.2  # another process saw the clock jump; ours is synchronised in a moment
        return 0.0 if result.has_moved else 0.1  # another process is about to fire what is due

    async def tick(self) -> list[Fired]:
        """Fires a batch of due slots."""
        return (await self._fire_due()).fired

    async def _fire_due(self) -> FireResult:
        await self._store.require_room()
        now = self._clock.now()
        try:
            await self._replace_runs(now)
            with suppress(StoreAway):  # an old count is better than no firing
                await self._firer.pending.count(self._store)
            result = await self._store.write(
                lambda c: self._firer.fire_due(c, now=now), durable=True, large=True
            )
            self._failures = 0
        except (StoreFull, TimeShifted):
            raise
        except StoreAway:
            self._failures += 1
            if self._failures <= TRIES_IN_A_BATCH:
                raise
            log.warning("slots_could_not_fire", meaning="they are tried one by one")
            result = await self._fire_apart(now)
        except Exception:
            log.exception("slots_could_not_fire", meaning="they are tried one by one")
            result = await self._fire_apart(now)
        for fired in result.fired:
            self.announce(fired)
            if fired.task is not None:
                self.tasks.add(fired)
        return result

    async def _fire_apart(self, now: int) -> FireResult:
        """Fires due schedules in smaller batches, so that a schedule whose firing fails does not
        hold up the others."""
        due = await self._store.read(lambda c: list(_DUE_IDS(c, now=now, most=BATCH).scalars()))

        async def fire(ids: Sequence[int]) -> FireResult:
            work = partial(self._firer.fire_due, now=now, only=ids)
            return await self._store.write(work, durable=True, large=True)

        async def skip(schedule_id: int, error: Exception) -> FireResult:
            if isinstance(error, StoreAway):
                log.warning("slot_could_not_fire", schedule_id=schedule_id, reason=str(error))
                return FireResult([], has_moved=False)
            reason = f"An error inside curtsy: {error!r}"
            fired = await self._store.write(partial(refuse, schedule_id=schedule_id,
                                                    reason=reason, now=now))  # fmt: skip
            return FireResult(fired, has_moved=bool(fired))

        results = await isolate(due, fire, skip, passes=(StoreFull, TimeShifted)) if due else []
        return FireResult([fired for result in results for fired in result.fired],
                          has_moved=any(result.has_moved for result in results))  # fmt: skip

    async def _replace_runs(self, now: int) -> None:
        """Cancels the runs that due slots replace, each in its own transaction."""
        for found in await self._store.read(lambda c: runs_to_replace(c, now)):
            if await self._store.write(lambda c: replace_run(c, found, self._firer, now=now)):  # noqa: B023
                log.info("run_replaced", job=found.job)

    def announce(self, fired: Fired) -> None:
        """Logs a resolved slot, and wakes the workers if the slot has a job."""
        lag = self._clock.now() - fired.fire_at
        log.info(f"slot_{fired.outcome}", schedule=fired.schedule.name, job=fired.job,
                 why=fired.message, late_ms=lag if lag > LATE else None)  # fmt: skip
        if fired.job is not None:
            self._on_work()
            if fired.schedule.site_id is not None:
                site = orjson.loads(fired.schedule.payload)["run"]["site_name"]
                log_run("run_queued", site, fired.job, "queued")

    async def _reopen(self) -> None:
        """Opens slots again that have not come yet but were resolved: when the process starts, when
        the clock was set back, and now and then."""
        now, monotonic = self._clock.now(), self._clock.monotonic()
        if monotonic < self._reopen_at and now >= self._latest - CLOCK_TOLERANCE:
            self._latest = max(now, self._latest)
            return
        after: int | None = 0
        while after is not None:
            with suppress(TimeShifted):  # tried again in a moment
                step = partial(self._reopen_some, after=after)
                reopened, after = await self._store.write(step, durable=True)
                if reopened:
                    log.warning("slots_reopened", schedules=reopened,
                                why="a clock that was ahead had resolved them")  # fmt: skip
                continue
            return
        self._latest, self._reopen_at = now, monotonic + REOPEN_EVERY

    def _reopen_some(self, connection: Connection, *, after: int) -> tuple[int, int | None]:
        now = self._clock.now()
        if abs(_DATABASE_NOW(connection).scalar_one() - now) > CLOCK_TOLERANCE:
            raise TimeShifted  # our clock is synchronised in a moment
        reopened = reopen(connection, now=now, after=after)
        self._firer.require_same_time(connection)
        return reopened

    async def _beat(self) -> None:
        """Shows operators which schedulers are alive; no protocol depends on heartbeats."""
        if self._clock.monotonic() >= self._beat_at:
            self._beat_at = self._clock.monotonic() + BEAT_EVERY
            await self._store.write(self._store_heartbeat)

    def _store_heartbeat(self, connection: Connection) -> None:
        now = self._clock.now()
        _DELETE_SCHEDULERS(connection, id="", before=now - GONE_AFTER)
        _BEAT(connection, id=self.id, machine=platform.node(), pid=os.getpid(),
              program=f"curtsy {__version__}", schema=self._schema, now=now)  # fmt: skip

    async def leave(self) -> None:
        """Deletes the row of this scheduler."""
        with suppress(StoreAway, StoreFull):
            await self._store.write(lambda c: _DELETE_SCHEDULERS(c, id=self.id, before=0) and None)
