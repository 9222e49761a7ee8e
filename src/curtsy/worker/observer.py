"""Watches the heartbeats of other workers, releases the sources of dead workers, terminates frozen
transactions, and wakes parked sources that have visits."""

from dataclasses import dataclass

from curtsy.clock import Clock
from curtsy.frontier.host_moves import move_late_visits
from curtsy.frontier.worker_rows import beats, has_orphans, reap, wake_forgotten
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
    """Declares a worker dead when its heartbeat stood still for a whole lease, observed without a
    gap by this worker's own clock."""

    def __init__(self, *, store: Store, clock: Clock, ttl: int) -> None:
        self._store, self._clock, self._ttl = store, clock, ttl
        self._seen: dict[str, _Seen] = {}
        self._checked_at: int | None = None
        self._swept_at = clock.monotonic()

    async def step(self) -> float:
        """A periodic step: checks all workers once; returns seconds until the next check."""
        read_at = self._clock.monotonic()
        found, orphans, frozen = await self._store.read(
            lambda c: (beats(c), has_orphans(c), terminate_frozen(c))
        )
        if frozen:
            log.warning("transactions_ended", number=frozen, why="their process stood still")
        dead = self._find_dead(found, read_at)
        now = self._clock.now()
        declared_dead = []
        if dead or orphans:
            declared_dead = await self._store.write(lambda c: reap(c, dead, now=now))
        if declared_dead:
            log.warning("worker_died", workers=declared_dead, meaning="its sources are free again")
        if read_at - self._swept_at >= SWEEP_EVERY:
            self._swept_at = read_at
            await self._store.write(lambda c: move_late_visits(c, now=now))
            woken = await self._store.write(lambda c: wake_forgotten(c, now=now))
            if woken:
                log.warning("sources_woken", sources=woken, why="parked although pages wait")
        return self._ttl / 15_000

    def _find_dead(self, found: dict[str, int], at: int) -> list[tuple[str, int]]:
        """Returns the workers whose heartbeat stood still. A gap between checks restarts the
        observation."""
        gap = self._checked_at is None or at - self._checked_at > self._ttl // 3
        self._checked_at = at
        seen: dict[str, _Seen] = {}
        for worker, number in found.items():
            before = self._seen.get(worker)
            fresh = gap or before is None or before.beat != number
            seen[worker] = _Seen(number, at) if fresh or before is None else before
        self._seen = seen
        return [(w, s.beat) for w, s in seen.items() if at - s.since >= self._ttl]
