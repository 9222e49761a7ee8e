"""Reads what the rules need, with a bounded number of statements, each metric by itself: an error
in one leaves the others known."""

from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import TypeVar

from curtsy.alerts.evaluation import UNKNOWN, Readings, Values
from curtsy.alerts.metric import TEXTS, Metric
from curtsy.alerts.readings import of_sites, of_sources, system
from curtsy.alerts.readings.space import FreeSpace, megabytes
from curtsy.alerts.rule import Measure
from curtsy.clock import MINUTE, Clock
from curtsy.errors import StoreAway, StoreFull
from curtsy.logs import logger
from curtsy.politeness.policy import Policy
from curtsy.reports.ready_pages import ready_pages
from curtsy.store import Connection, Store
from curtsy.store.space import Space, read_space

log = logger("alerts")

T = TypeVar("T")

SELDOM = {
    Metric.LIMIT_USE: MINUTE, Metric.HOSTS_GIVEN_UP: MINUTE, Metric.SLOTS_WITHOUT_SUCCESS: MINUTE,
    Metric.RECORDS: MINUTE,
}  # fmt: skip
"""Metrics that cost more are read at most this often. In between they are unknown: with a value
that it remembers, a scheduler would undo what another one has just seen."""
_SPACE = (Metric.FREE_DISK, Metric.WAL_SIZE, Metric.DATABASE_SIZE, Metric.HOURS_UNTIL_FULL)


class MetricReader:
    """Remembers what changes seldom."""

    def __init__(self, *, store: Store, clock: Clock, policy: Policy) -> None:
        """`policy`: of sources that nobody described."""
        self._store, self._clock, self._policy = store, clock, policy
        self._records, self._free = of_sites.RecordCounts(), FreeSpace()
        self._due_at: dict[Measure, int] = {}
        self._space: Space | None = None
        """As read by this evaluation."""

    async def read(
        self, measures: Collection[Measure], known: Mapping[Measure, Collection[str]]
    ) -> Readings:
        """`known` are subjects that have alerts. While the time is doubtful, what happened in a
        window is unknown. Raises `StoreAway`."""
        found: dict[Measure, Values] = {}
        self._space = None
        for measure in sorted(measures):
            if TEXTS[measure.metric].has_window and self._clock.is_doubtful:
                continue
            try:
                found[measure] = await self._read(measure, known.get(measure, ()))
            except (StoreAway, StoreFull):
                raise
            except Exception:
                log.exception("metric_unreadable", metric=measure.metric)
        return found

    async def _read(self, measure: Measure, known: Collection[str]) -> Values:
        monotonic = self._clock.monotonic()
        if monotonic < self._due_at.get(measure, 0):
            return UNKNOWN
        self._due_at[measure] = monotonic + SELDOM.get(measure.metric, 0)
        return await self._read_now(measure, known)

    async def _read_now(self, measure: Measure, known: Collection[str]) -> Values:
        if measure.metric in _SPACE:
            return await self._of_space(measure.metric)
        return await self._store.read(self._work(measure, known), large=True)

    def _work(self, measure: Measure, known: Collection[str]) -> Callable[[Connection], Values]:
        now, window, at_least = self._clock.now(), measure.window, measure.at_least
        match measure.metric:
            case Metric.SUCCESS_RATE:
                return partial(system.success_rate, now=now, window=window, at_least=at_least)
            case Metric.SOURCE_SUCCESS_RATE:
                return partial(of_sources.success_of_sources, now=now, window=window,
                               at_least=at_least, known=known)  # fmt: skip
            case Metric.READY_PAGES:
                return lambda c: Values({"": ready_pages(c, defaults=self._policy, now=now)})
            case Metric.WORKER_MEMORY:
                return partial(system.worker_memory, now=now,
                               is_doubtful=self._clock.is_doubtful)  # fmt: skip
            case Metric.LIMIT_USE:
                return partial(of_sources.limit_use, now=now)
            case Metric.MISSED_SLOTS:
                return partial(system.missed_slots, now=now, window=window)
            case Metric.SLOTS_WITHOUT_SUCCESS:
                return lambda c: of_sites.slots_without_success(of_sites.slots_of_sites(c))
            case Metric.RECORDS:
                return lambda c: self._records.of_usual(c, of_sites.slots_of_sites(c))
            case Metric.LIVE_WORKERS:
                return partial(system.live_workers, now=now)
            case Metric.HOSTS_GIVEN_UP:
                return of_sources.hosts_given_up
            case other:
                raise AssertionError(f"{other} is not read from a table")

    async def _of_space(self, metric: Metric) -> Values:
        if self._space is None:
            self._space = await read_space(self._store)
        space, monotonic = self._space, self._clock.monotonic()
        match metric:
            case Metric.FREE_DISK:
                return megabytes(space.free_bytes)
            case Metric.WAL_SIZE:
                return megabytes(space.wal_bytes)
            case Metric.DATABASE_SIZE:
                return megabytes(space.database_bytes)
            case _:
                self._free.add(space, monotonic)
                return Values({"": self._free.hours_until_full(space, monotonic)})
