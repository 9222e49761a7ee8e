"""The alerts of a scheduler process: evaluates the rules and sends the messages."""

import asyncio

from curtsy import periodic
from curtsy.alerts.evaluator import Evaluator
from curtsy.alerts.notifier import Notifier
from curtsy.alerts.readings.reader import MetricReader
from curtsy.clock import Clock
from curtsy.config import Settings, whole_policy, worker_settings
from curtsy.store import Store


class AlertLoops:
    """Runs until `stop` is called. A message that is under way then is sent again later."""

    def __init__(self, *, evaluator: Evaluator, notifier: Notifier) -> None:
        self._evaluator, self._notifier = evaluator, notifier
        self._stopping = asyncio.Event()

    async def run(self) -> None:
        async with self._notifier, asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(periodic.run("watch", self._evaluator.step)),
                group.create_task(self._notifier.run()),
            ]
            await self._stopping.wait()
            for task in tasks:
                task.cancel()

    async def stop(self) -> None:
        self._stopping.set()


def alert_loops_for(settings: Settings, store: Store, clock: Clock) -> AlertLoops:
    worker = worker_settings(settings)
    return AlertLoops(
        evaluator=Evaluator(store=store, clock=clock,
                            reader=MetricReader(store=store, clock=clock,
                                                policy=whole_policy(settings))),
        notifier=Notifier(store=store, clock=clock, user_agent=worker.user_agent,
                          allow=worker.allow),
    )  # fmt: skip
