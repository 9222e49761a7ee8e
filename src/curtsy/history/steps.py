"""The periodic steps of the history, which any number of processes may run."""

from collections.abc import Awaitable, Callable, Mapping

from curtsy.clock import MINUTE, SECOND, Clock
from curtsy.history import fold
from curtsy.history.roll_up import prune, reduce_days, roll_up_sources, roll_up_totals
from curtsy.store import Store

ROLL_UP_EVERY_SECONDS = 10 * MINUTE / SECOND


class HistorySteps:
    def __init__(self, *, store: Store, clock: Clock) -> None:
        self._store, self._clock = store, clock

    def by_name(self) -> Mapping[str, Callable[[], Awaitable[float]]]:
        return {"fold_history": self.fold, "roll_up_history": self.roll_up}

    async def fold(self) -> float:
        """Folds what is due. The times are stored: more processes do not fold more often."""
        due = await self._store.read(lambda c: fold.due(c, now=self._clock.now()))
        if due.totals:
            await self._fold_totals()
        if due.sources:
            await self._fold_sources()
        return due.pause / SECOND

    async def fold_all(self) -> None:
        """Folds everything, due or not; what another process is folding is folded afterwards."""
        await self._fold_totals(waits=True)
        await self._fold_sources(waits=True)

    async def _fold_totals(self, *, waits: bool = False) -> None:
        now, batches = self._clock.now(), fold.TOTALS_AT_ONCE
        while batches == fold.TOTALS_AT_ONCE:
            batches = await self._store.write(
                lambda c: fold.fold_totals(c, now=now, waits=waits), large=True
            )

    async def _fold_sources(self, *, waits: bool = False) -> None:
        now, batches = self._clock.now(), fold.SOURCES_AT_ONCE
        while batches == fold.SOURCES_AT_ONCE:
            batches = await self._store.write(
                lambda c: fold.fold_sources(c, now=now, waits=waits), large=True
            )

    async def roll_up(self) -> float:
        """Moves old counts into longer spans and deletes the oldest; does nothing while the time
        is doubtful."""
        if self._clock.is_doubtful:
            return ROLL_UP_EVERY_SECONDS
        now = self._clock.now()
        await self._store.write(lambda c: roll_up_totals(c, now=now), large=True)
        for work in (roll_up_sources, prune):
            while await self._store.write(lambda c: work(c, now=now), large=True):  # noqa: B023
                pass
        await self._store.write(lambda c: reduce_days(c, now=now), large=True)
        return ROLL_UP_EVERY_SECONDS
