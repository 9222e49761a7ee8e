"""Watches the other workers' beats, frees what the dead and the frozen hold, wakes what was
forgotten."""

from dataclasses import dataclass

from curtsy.clock import Clock
from curtsy.frontier.host_moves import move_late_visits
from curtsy.frontier.workers import beats, has_orphans, reap, wake_forgotten
from curtsy.logs import logger
from curtsy.store import Store
from curtsy.store.frozen_sessions import terminate_frozen

log = logger("worker")

SWEEP_EVERY = 30_000


@dataclass(slots=True)
class _Seen:
    beat: int
    since: int


class Observer:
    """Death is observed: no beat for a whole lease, watched without a gap by our own clock."""

    def __init__(self, *, store: Store, clock: Clock, ttl: int) -> None:
        self._store, self._clock, self._ttl = store, clock, ttl
        self._seen: dict[str, _Seen] = {}
        self._looked_at: int | None = None
        self._swept_at = clock.monotonic()

    async def step(self) -> float:
        """A duty: look once, act on who is dead; returns seconds until the next look."""
        asked_at = self._clock.monotonic()
        found, orphans, frozen = await self._store.read(
            lambda c: (beats(c), has_orphans(c), terminate_frozen(c))
        )
        if frozen:
            log.warning("transactions_ended", number=frozen, why="their process stood still")
        dead = self._judge(found, asked_at)
        now = self._clock.now()
        buried = []
        if dead or orphans:
            buried = await self._store.write(lambda c: reap(c, dead, now=now))
        if buried:
            log.warning("worker_died", workers=buried, meaning="its sources are free again")
        if asked_at - self._swept_at >= SWEEP_EVERY:
            self._swept_at = asked_at
            await self._store.write(lambda c: move_late_visits(c, now=now))
            woken = await self._store.write(lambda c: wake_forgotten(c, now=now))
            if woken:
                log.warning("sources_woken", sources=woken, why="parked although pages wait")
        return self._ttl / 15_000

    def _judge(self, found: dict[str, int], at: int) -> list[tuple[str, int]]:
        """Whose beat stood still; a gap in our own watching starts the count anew."""
        gap = self._looked_at is None or at - self._looked_at > self._ttl // 3
        self._looked_at = at
        seen: dict[str, _Seen] = {}
        for worker, number in found.items():
            before = self._seen.get(worker)
            fresh = gap or before is None or before.beat != number
            seen[worker] = _Seen(number, at) if fresh or before is None else before
        self._seen = seen
        return [(w, s.beat) for w, s in seen.items() if at - s.since >= self._ttl]
