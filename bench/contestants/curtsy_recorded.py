"""Our worker on pages that were submitted before, with the history or without it; ends when all
results are counted in the history."""

import asyncio
from collections.abc import Collection, Sequence
from typing import Any

import uvloop

from bench.children import contestant
from bench.contestants.curtsy_pages import finished, settings
from bench.setting_up import opened, submit
from bench.spent import Spent
from curtsy import periodic
from curtsy.frontier import flush
from curtsy.frontier.batch import Result
from curtsy.history.steps import HistorySteps
from curtsy.store import Call, Connection, together
from curtsy.store import Result as Rows
from curtsy.worker import Worker


class Recording:
    """Takes the history's part out of the flushes of this process while it is off."""

    def __init__(self, *, is_on: bool = True) -> None:
        self.is_on = is_on
        self._inner = flush.history_call
        self._nothing: Call = (flush._END_ITEMS, {})
        flush.history_call, flush.together = self._history_call, self._together

    def _history_call(self, results: Sequence[Result], *, new_letters: Collection[int]) -> Call:
        return self._inner(results, new_letters=new_letters) if self.is_on else self._nothing

    def _together(self, connection: Connection, *calls: Call) -> list[Rows]:
        return together(connection, *(call for call in calls if call is not self._nothing))


async def run(database: str, urls: list[str], recorded: bool, **options: Any) -> dict[str, Any]:
    Recording(is_on=recorded)
    async with opened(database) as (store, clock):
        (job,) = await submit(store, clock, urls)
        worker = Worker(store=store, clock=clock, settings=settings(**options))
        history = HistorySteps(store=store, clock=clock)
        spent = Spent()
        tasks = [asyncio.create_task(worker.run())]
        if recorded:
            steps = history.by_name().items()
            tasks += [asyncio.create_task(periodic.run(*named)) for named in steps]
        done = await finished(store, job)
        if recorded:
            await history.fold_all()
        measured = spent.until_now()
        await worker.stop()
        for task in tasks[1:]:
            task.cancel()
        await asyncio.wait(tasks)
        return {"pages": done, **measured}


def measure(**options: Any) -> dict[str, Any]:
    return uvloop.run(run(**options))


if __name__ == "__main__":
    contestant(measure)
