"""Runs due maintenance tasks one after the other, apart from the loop that fires slots."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import NamedTuple

from curtsy import periodic
from curtsy.errors import StoreAway, StoreFull
from curtsy.logs import logger
from curtsy.schedules.firer import Fired
from curtsy.schedules.firings import Outcome, report
from curtsy.store import Store

log = logger("schedule")

IDLE_SECONDS = 3_600.0
"""Between two steps without a task: `add` wakes the loop."""

MaintenanceTasks = Mapping[str, Callable[[], Awaitable[str]]]
"""Tasks by name; each returns a sentence about what it did."""


class _QueuedSlot(NamedTuple):
    fired: Fired
    done: asyncio.Future[Fired]


class TaskQueue:
    def __init__(self, *, store: Store, tasks: MaintenanceTasks) -> None:
        self._store, self._tasks = store, tasks
        self._queued: dict[str, list[_QueuedSlot]] = {}
        """By task: the slots that wait for it. One execution resolves all of them."""
        self.wake = periodic.Wake()
        self._one_at_a_time = asyncio.Lock()

    @property
    def names(self) -> Collection[str]:
        """The tasks that this queue can run."""
        return self._tasks.keys()

    def add(self, fired: Fired) -> asyncio.Future[Fired]:
        """Queues the task of a slot. The future resolves with the task's outcome."""
        assert fired.task is not None
        slot = _QueuedSlot(fired, asyncio.get_running_loop().create_future())
        self._queued.setdefault(fired.task, []).append(slot)
        self.wake()
        return slot.done

    @property
    def is_settled(self) -> bool:
        """No task is queued."""
        return not self._queued

    async def step(self) -> float:
        """A periodic step: runs all queued tasks, however long they take. A task stays queued until
        its outcome is stored: while the store is away, the task waits for the next step."""
        async with self._one_at_a_time:
            while self._queued:
                name = next(iter(self._queued))
                slots = tuple(self._queued[name])
                outcome, message = await self._run(name)
                for slot in slots:
                    fired = slot.fired._replace(outcome=outcome, message=message)
                    await self._store_outcome(fired)
                    if not slot.done.done():
                        slot.done.set_result(fired)
                self._dequeue(name, len(slots))
        return IDLE_SECONDS

    def _dequeue(self, name: str, number: int) -> None:
        """Removes the first slots. Slots that were added during the task wait for an execution that
        starts after them."""
        del self._queued[name][:number]
        if not self._queued[name]:
            del self._queued[name]

    async def _run(self, name: str) -> tuple[Outcome, str]:
        """Returns the outcome of a task, and a sentence about it."""
        try:
            return "fired", await self._tasks[name]()
        except (StoreAway, StoreFull):
            raise
        except Exception as error:
            log.exception("duty_failed", duty=name)
            return "refused", f"The maintenance task failed: {error!r}"[:1_000]

    async def _store_outcome(self, fired: Fired) -> None:
        await self._store.write(
            lambda c: report(c, fired.schedule.id, fired.fire_at, outcome=fired.outcome,
                             message=fired.message)
        )  # fmt: skip
