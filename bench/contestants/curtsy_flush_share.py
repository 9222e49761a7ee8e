"""What the history adds to our flushes, which have it and have it not in turns, and what the folds
take afterwards: processor time, the server's included."""

import time
from pathlib import Path
from typing import Any

import uvloop

from bench.children import contestant
from bench.contestants.curtsy_recorded import Recording
from bench.draining import EVERYTHING, Drainer, Quota
from bench.setting_up import opened
from bench.spent import descendants
from curtsy.history.steps import HistorySteps

PER_LEASE = 100
WARM_UP = 4
"""Flushes that are not counted."""


class Processor:
    """Nanoseconds of this process and of the server's processes."""

    def __init__(self, server: int | None) -> None:
        self._server = server

    def now(self) -> int:
        spent = time.process_time_ns()
        for number in descendants(self._server) if self._server else ():
            try:
                spent += int(Path(f"/proc/{number}/schedstat").read_text().split()[0])
            except OSError:
                continue  # it has just ended
        return spent


class Alternating(Drainer):
    """Measures each of its flushes."""

    recording: Recording
    processor: Processor

    async def _flush(self, size: int) -> int:
        self.recording.is_on = not self.recording.is_on
        before = self.processor.now()
        recorded = await super()._flush(size)
        self.spent.append((self.recording.is_on, self.processor.now() - before, recorded))
        return recorded

    spent: list[tuple[bool, int, int]]


async def run(database: str, server: int | None) -> dict[str, Any]:
    async with opened(database) as (store, clock):
        drainer = Alternating(store=store, clock=clock, quota=Quota(EVERYTHING),
                              per_lease=PER_LEASE)  # fmt: skip
        drainer.recording, drainer.processor, drainer.spent = Recording(), Processor(server), []
        await drainer.register()
        visits = await drainer.run()
        counted = sum(pages for is_on, _ns, pages in drainer.spent if is_on)
        before = drainer.processor.now()
        await HistorySteps(store=store, clock=clock).fold_all()
        fold = drainer.processor.now() - before
        await drainer.leave()
    of = {is_on: [one for one in drainer.spent[WARM_UP:] if one[0] is is_on]
          for is_on in (True, False)}  # fmt: skip
    mean = {is_on: sum(ns for _on, ns, _pages in some) / sum(pages for _on, _ns, pages in some)
            for is_on, some in of.items()}  # fmt: skip
    return {"visits": visits, "with": mean[True] / 1000, "without": mean[False] / 1000,
            "fold": fold / counted / 1000}  # fmt: skip


def measure(**options: Any) -> dict[str, Any]:
    return uvloop.run(run(**options))


if __name__ == "__main__":
    contestant(measure)
