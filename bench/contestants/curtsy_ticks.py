"""Ticks of a real scheduler, each with so many schedules due, picked at random."""

import random
import time
from statistics import median
from typing import Any

import uvloop

from bench.children import contestant
from bench.setting_up import opened
from curtsy.clock import DAY, Clock
from curtsy.jobs import SubmitLimits
from curtsy.jobs.backlog import Backlog
from curtsy.maintenance.tasks import MaintenanceTasks
from curtsy.requests.payloads import PayloadParser
from curtsy.schedules.firer import Firer
from curtsy.schedules.task_queue import TaskQueue
from curtsy.schedules.ticker import Ticker
from curtsy.store import Connection, Statement, Store

WARM_UP = 10

_NUMBER = Statement("SELECT max(id) FROM schedules")
_DUE_NOW = Statement(
    "UPDATE schedules SET next_fire_at = :now, look_at = :now WHERE id IN (SELECT id FROM {due})",
    due={"id": "bigint"},
)


def ticker(store: Store, clock: Clock) -> Ticker:
    payloads = PayloadParser(page_max_age=DAY, crawl_cache_ttl=DAY)
    firer = Firer(clock=clock, limits=SubmitLimits(), delay_ms=1_000, task_of=payloads,
                  pending=Backlog(clock))  # fmt: skip
    duties = MaintenanceTasks(store=store, clock=clock, keep_days=30)
    tasks = TaskQueue(store=store, tasks=duties.by_name())
    return Ticker(store=store, clock=clock, firer=firer, tasks=tasks, on_work=lambda: None)


async def run(database: str, ticks: int, due: int) -> dict[str, Any]:
    rng = random.Random(1)
    async with opened(database) as (store, clock):
        one = ticker(store, clock)
        number = await store.read(lambda c: _NUMBER(c).scalar_one())
        spent, fired = [], 0
        for _ in range(WARM_UP + ticks):
            ids = [(i,) for i in rng.sample(range(1, number + 1), due)]

            def fall_due(connection: Connection, ids: list[Any] = ids) -> None:
                _DUE_NOW(connection, due=ids, now=clock.now())

            await store.write(fall_due)
            began = time.perf_counter()
            came = await one.tick()
            spent.append(time.perf_counter() - began)
            fired += len(came)
    return {"milliseconds": 1_000 * median(spent[WARM_UP:]), "fired": fired - WARM_UP * due}


def measure(**options: Any) -> dict[str, Any]:
    return uvloop.run(run(**options))


if __name__ == "__main__":
    contestant(measure)
