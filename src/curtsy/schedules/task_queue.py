"""Duties whose slot has come: done one after the other, beside the firing of slots."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple

from curtsy import periodic
from curtsy.errors import StoreAway, StoreFull
from curtsy.logs import logger
from curtsy.schedules.firer import Fired, Outcome
from curtsy.schedules.firings import report
from curtsy.store import Store

log = logger("schedule")

LOOK_EVERY_SECONDS = 3_600.0
"""A hint comes with every duty; this is for none."""

MaintenanceTasks = Mapping[str, Callable[[], Awaitable[str]]]
"""By name: what each does; it returns a sentence about it."""


class _Slot(NamedTuple):
    fired: Fired
    done: asyncio.Future[Fired]


class TaskQueue:
    def __init__(self, *, store: Store, duties: MaintenanceTasks) -> None:
        self._store, self._duties = store, duties
        self._waiting: dict[str, list[_Slot]] = {}
        """By duty: slots that it is owed to. Done once, it is done for all of them."""
        self.wake = periodic.Wake()
        self._one_at_a_time = asyncio.Lock()

    def add(self, one: Fired) -> asyncio.Future[Fired]:
        """Whoever wants to know what came of it may wait for that."""
        assert one.duty is not None
        slot = _Slot(one, asyncio.get_running_loop().create_future())
        self._waiting.setdefault(one.duty, []).append(slot)
        self.wake()
        return slot.done

    @property
    def is_settled(self) -> bool:
        """Nothing is owed."""
        return not self._waiting

    async def step(self) -> float:
        """A duty, too: what is owed, however long it takes. It is owed until it is done and told:
        while the store is away, it waits for the next step."""
        async with self._one_at_a_time:
            while self._waiting:
                name = next(iter(self._waiting))
                slots = tuple(self._waiting[name])
                outcome, message = await self._done(name)
                for slot in slots:
                    told = slot.fired._replace(outcome=outcome, message=message)
                    await self._report(told)
                    if not slot.done.done():
                        slot.done.set_result(told)
                self._let_go(name, len(slots))
        return LOOK_EVERY_SECONDS

    def _let_go(self, name: str, number: int) -> None:
        """Of those that came meanwhile none: they are owed a duty that begins after them."""
        del self._waiting[name][:number]
        if not self._waiting[name]:
            del self._waiting[name]

    async def _done(self, name: str) -> tuple[Outcome, str]:
        """What came of it, and a sentence about that."""
        try:
            return "fired", await self._duties[name]()
        except (StoreAway, StoreFull):
            raise
        except Exception as error:
            log.exception("duty_failed", duty=name)
            return "refused", f"The duty failed: {error!r}"[:1_000]

    async def _report(self, one: Fired) -> None:
        await self._store.write(
            lambda c: report(c, one.schedule.id, one.fire_at, outcome=one.outcome,
                             message=one.message)
        )  # fmt: skip
